import { isLockError } from '../../libs/distribute-lock/src/errors.js';
import { surelyOverMs } from '../../libs/distribute-lock/src/engine/lease/grant.js';
import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import type { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import { QUANTUM_HOLDS, QUANTUM_MS } from '../../libs/distribute-lock/src/engine/local-hand-over.js';
import { CLAIM_WINDOW_MS } from '../../libs/distribute-lock/src/store/protocol.js';
import { GateWatch } from './gate-watch.js';
import { Hold } from './hold.js';
import { isCalm } from './plan.js';
import type { Call } from './pending-calls.js';
import type { SimulatedProcess } from './simulated-process.js';
import type { World } from './world.js';

/** Sums of times are rounded. */
const ROUNDING_MS = 0.001;
/** Sums of times differ by less than this. */
const SAME_MS = 0.01;
/** The longest delay of a timer. */
const LATE_MS = 1;
/** After a stop, all due events happen first. */
const BACKLOG_MS = 2;

/** Records every lease from its grant on, and compares it with the server and with the knowledge of its process. */
export class Ledger {
  /** Number of granted leases. */
  count = 0;
  private readonly holds = new Set<Hold>();
  private readonly byLabel = new Map<string, Hold>();
  readonly gates: GateWatch;
  private readonly lastRank = new Map<string, number>();
  private readonly holdsOf = new Map<string, number>();
  /** Owner tokens whose process was notified of a waiter. */
  private readonly contendedTokens = new Set<string>();

  /** Whether processes must be served in turn: without faults, and when all of them can be notified. */
  private readonly inTurn: boolean;

  constructor(private readonly world: World) {
    this.gates = new GateWatch(world);
    this.inTurn = isCalm(world.plan) && !world.plan.processes.some(({ deaf }) => deaf);
  }

  started(call: Call, lease: LeaseHandle, whole: Lease = lease): Hold {
    const hold = new Hold(call, lease, whole);
    this.count += 1;
    this.holds.add(hold);
    this.byLabel.set(call.label, hold);
    this.checkTurn(hold);
    this.checkQuantum(hold);
    return hold;
  }

  contended(ownerToken: string): void {
    this.contendedTokens.add(ownerToken);
    this.gates.closed(ownerToken);
  }

  /** The holder was notified of the loss. */
  notified(label: string, process: SimulatedProcess): void {
    const [op, key] = label.split('/');
    const { world } = this;
    const hold = this.byLabel.get(label);
    world.note(`notified ${label} of its loss`, process);
    const error: unknown = hold?.lease.signal.reason;
    const code = isLockError(error) ? error.code : hold === undefined ? 'LEASE_LOST' : 'none';
    const reason = isLockError(error, 'LEASE_LOST') ? error.reason : undefined;
    world.recorder.record(process, { type: 'lost', op, key, code, reason, message: '' });
    if (hold === undefined) return;
    hold.notified = true;
    if (world.server.givenBack.has(hold.ownerToken)) world.fail('a release was reported as a loss', label);
    this.mayStay(hold);
  }

  /** Records until when the key may stay taken after the end of its hold. A claimed offer keeps its claim window. */
  mayStay({ call, lease, process }: Hold, longestMs = 0): void {
    const { minHoldMs, release, ttlMs } = call.options;
    const { pendingCalls, timeline } = this.world;
    const keptMs = lease.startedAt + minHoldMs + LATE_MS - process.now();
    const mostMs = Math.max(ttlMs, lease.grant.ttlMs, longestMs, CLAIM_WINDOW_MS);
    const restMs = Math.max(minHoldMs > 0 ? keptMs : 0, release === 'expire' ? surelyOverMs(mostMs) : 0);
    pendingCalls.leftUntil(lease.key, timeline.now + process.realMs(restMs));
  }

  /** Whether the key, or any key, has a valid holder. */
  isHeld(key?: string): boolean {
    return [...this.holds].some(({ lease }) => (key === undefined || lease.key === key) && lease.isHeld());
  }

  /** Compares at every moment the leases that holders rely on with those of the server. */
  check(): void {
    for (const hold of this.holds) {
      if (hold.process.gone) this.holds.delete(hold);
      else if (hold.lease.isHeld()) {
        this.sample(hold);
        this.checkHeld(hold);
      } else this.checkOver(hold);
    }
  }

  /** Records a change of the time until which the lease is proven. */
  private sample(hold: Hold): void {
    const { lease, whole, process, op } = hold;
    if (lease.key !== whole.key || !whole.isHeld()) return;
    const until = this.world.timeline.now + process.realMs(whole.remainingMs());
    if (Math.abs(until - hold.until) < SAME_MS) return;
    hold.until = until;
    this.world.recorder.record(process, { type: 'proven', op, until });
  }

  private checkHeld(hold: Hold): void {
    const { world } = this;
    const { lease, ownerToken, process } = hold;
    const left = world.server.leftMs(lease.key, ownerToken);
    const forgotten = world.server.forgotten.get(ownerToken);
    if (forgotten !== undefined) {
      // A later renewal may shorten the lease, and its answer reports the loss.
      if (hold.forgottenAt !== forgotten) {
        hold.forgottenAt = forgotten;
        hold.notifiedBy = forgotten + process.realMs(Math.max(lease.grant.ttlMs, lease.ttlMs)) + ROUNDING_MS;
      }
      if (left === undefined && world.timeline.now > hold.notifiedBy)
        world.fail('a holder was never notified of lost data', ownerToken);
      return;
    }
    if (left === undefined || left < process.realMs(lease.remainingMs()) - ROUNDING_MS) {
      world.fail('a holder relies on a lease longer than the server keeps it', hold.call.label);
    }
  }

  private checkOver(hold: Hold): void {
    const { world } = this;
    const { process, lease, op, ownerToken } = hold;
    if (!hold.over && !hold.released) world.recorder.record(process, { type: 'not-held', op });
    hold.over = true;
    if (hold.released) this.holds.delete(hold);
    else if (!hold.notified && !lease.ended && this.mustKnow(process)) {
      const forgotten = world.server.forgotten.has(ownerToken);
      if (forgotten || world.server.leftMs(lease.key, ownerToken) !== undefined) return;
      world.fail('a holder was not notified before its lease ended', hold.call.label);
    }
  }

  private mustKnow(process: SimulatedProcess): boolean {
    return process.turning && this.world.timeline.now > process.turningSince + BACKLOG_MS;
  }

  /** Processes without faults are served in the order in which their attempts reached the server. */
  private checkTurn(hold: Hold): void {
    const { world } = this;
    const { call, lease, ownerToken } = hold;
    const { kind, weight } = call.options;
    // Readers take turns with writers, not with other readers.
    if (kind === 'read') return this.gates.started(hold);
    const isAlone =
      kind !== 'semaphore' ||
      world.plan.callers.every(({ key, options: { permits } }) => key !== call.key || permits <= weight);
    const rank = world.server.ranks.get(ownerToken) ?? -1;
    if (this.inTurn && isAlone && rank < (this.lastRank.get(lease.key) ?? -1))
      world.fail('a waiting process was overtaken');
    this.lastRank.set(lease.key, rank);
  }

  /** A process with waiters in other processes has a limit for local hand-overs, in number and time. */
  private checkQuantum({ call, lease, ownerToken }: Hold): void {
    const { keys, options } = call;
    const holds = (this.holdsOf.get(ownerToken) ?? 0) + 1;
    this.holdsOf.set(ownerToken, holds);
    const isLimited = keys === undefined && options.kind !== 'read' && options.kind !== 'semaphore';
    if (holds === 1 || !isLimited || !this.contendedTokens.has(ownerToken)) return;
    if (holds > QUANTUM_HOLDS || lease.startedAt - lease.grant.startedAt > QUANTUM_MS) {
      this.world.fail('a process kept the lock although others waited', ownerToken);
    }
  }
}
