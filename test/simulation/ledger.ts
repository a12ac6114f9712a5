import type { LeaseLostError } from '../../libs/distribute-lock/src/errors.js';
import { surelyOverMs } from '../../libs/distribute-lock/src/engine/lease/grant.js';
import type { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import { CLAIM_WINDOW_MS } from '../../libs/distribute-lock/src/store/protocol.js';
import { ROUNDING_MS } from '../histories/check/history.js';
import { Hold } from './hold.js';
import { capacityOf, weightOf } from './modes.js';
import type { PendingCall } from './pending-calls.js';
import type { SimulatedProcess } from './simulated-process.js';
import { Turns } from './turns.js';
import type { World } from './world.js';

/** Records every lease from its grant on, and compares it with that of the server. */
export class Ledger {
  /** Weight of the valid holds of each key at this moment. */
  private readonly used = new Map<string, number>();
  /** Number of granted leases. */
  count = 0;
  private readonly holds = new Set<Hold>();
  private readonly byLabel = new Map<string, Hold>();
  readonly turns: Turns;

  constructor(private readonly world: World) {
    this.turns = new Turns(world);
  }

  started(pendingCall: PendingCall, lease: LeaseHandle): Hold {
    const hold = new Hold(pendingCall, lease);
    const { world } = this;
    const { key, grant, fencingToken } = lease;
    this.count += 1;
    this.holds.add(hold);
    this.byLabel.set(pendingCall.label, hold);
    hold.until = hold.provenUntil(world) ?? world.timeline.now;
    this.compare(hold);
    world.recorder.record(hold.process, {
      type: 'granted',
      op: pendingCall.label,
      tokens: { [key]: fencingToken },
      sentAt: { [key]: hold.process.realMs(grant.startedAt - hold.process.plan.offset) },
      leases: { [key]: grant.passes },
      until: hold.until,
    });
    this.turns.check(hold);
    world.pendingCalls.progressed(key);
    return hold;
  }

  /** The holder was notified of the loss. A multi-key call may lose a key before it holds all of them. */
  notified(label: string, { code, reason, message }: LeaseLostError, process: SimulatedProcess): void {
    const { world } = this;
    world.note(`notified ${label} of its loss`, process);
    const hold = this.byLabel.get(label);
    if (hold === undefined) return world.recorder.record(process, { type: 'lost-waiting', op: label });
    world.recorder.record(process, { type: 'lost', op: label, code, reason, message });
    hold.notified = true;
    if (!hold.lease.signal.aborted) world.fail('a holder was notified of a loss, but the signal did not abort', label);
    // Only the server knows whether the key was released.
    if (world.server.givenBack.has(hold.ownerToken)) world.fail('a release was reported as a loss', label);
    this.staysTaken(hold);
  }

  /** The key of a lost lease stays locked for as long as without the loss. */
  private staysTaken({ lease, process, pendingCall: { options } }: Hold): void {
    const { pendingCalls, timeline } = this.world;
    const until = (ms: number): number => timeline.now + process.realMs(ms);
    if (options.minHoldMs > 0)
      pendingCalls.leftUntil(lease.key, until(lease.startedAt + options.minHoldMs - process.now()));
    const longestMs = Math.max(options.ttlMs, lease.grant.ttlMs, CLAIM_WINDOW_MS);
    if (options.release === 'expire') pendingCalls.leftUntil(lease.key, until(surelyOverMs(longestMs)));
  }

  /** Whether the key, or any key, has a valid holder. */
  isHeld(key?: string): boolean {
    return key === undefined ? this.used.size > 0 : this.used.has(key);
  }

  /** Whether the valid holders leave room for this caller. */
  fits({ key, options }: PendingCall, reads?: boolean): boolean {
    return (this.used.get(key) ?? 0) + weightOf(options, reads) <= capacityOf(options);
  }

  /** Checks at every moment that the server has the leases on which holders rely. */
  check(): void {
    this.used.clear();
    for (const hold of this.holds) {
      if (hold.process.gone || hold.released) this.holds.delete(hold);
      else this.sample(hold);
    }
  }

  /** Records a change of the proof of the lease. */
  sample(hold: Hold): void {
    const { recorder, timeline, server } = this.world;
    const { lease, process, ownerToken, pendingCall } = hold;
    const op = pendingCall.label;
    const until = hold.provenUntil(this.world);
    if (until === undefined) return this.ended(hold);
    if (hold.over) recorder.record(process, { type: 'not-held', op });
    if (hold.over || Math.abs(until - hold.until) > ROUNDING_MS)
      recorder.record(process, { type: 'proven', op, until });
    hold.over = false;
    hold.until = until;
    this.compare(hold);
    if (hold.onServer !== false) this.use(hold);
    const left = hold.onServer === undefined ? server.leftMs(lease.key, ownerToken) : Infinity;
    if (left === undefined || left < until - timeline.now - ROUNDING_MS)
      this.world.fail('a holder relies on a lease longer than the server keeps it', op);
  }

  /** Records whether the server has a lock that it has lost. A repeated attempt may acquire it again. */
  private compare(hold: Hold): void {
    const { recorder, server } = this.world;
    const { lease, ownerToken, process, pendingCall } = hold;
    if (hold.onServer === undefined && !server.forgotten.has(ownerToken)) return;
    const has = server.leftMs(lease.key, ownerToken) !== undefined;
    if (hold.onServer !== has) recorder.record(process, { type: 'on-server', op: pendingCall.label, has });
    hold.onServer = has;
  }

  private ended(hold: Hold): void {
    const { recorder, server } = this.world;
    const { lease, ownerToken, process, recorded, notified, pendingCall } = hold;
    const op = pendingCall.label;
    hold.over = true;
    // A reader may be notified later while the server keeps the lease for other readers.
    if (recorded || notified || (!lease.ended && server.leftMs(lease.key, ownerToken) !== undefined)) return;
    hold.recorded = true;
    // Without a loss, a shutdown has ended the lease.
    recorder.record(
      process,
      lease.ended ? { type: 'lost', op, code: 'LOCK_SHUTDOWN', message: '' } : { type: 'not-held', op },
    );
  }

  private use({ pendingCall: { key, options }, reads }: Hold): void {
    this.used.set(key, (this.used.get(key) ?? 0) + weightOf(options, reads));
  }
}
