import { isLockError } from '../../libs/distribute-lock/src/errors.js';
import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import type { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import type { Bare, OfOperation, RecordedOptions } from '../checker/event.js';
import type { Hold } from './hold.js';
import { isCalm, PATIENT_MS, type CallerPlan } from './plan.js';
import type { Call } from './pending-calls.js';
import type { SimulatedProcess } from './simulated-process.js';
import { recordedOptions } from './recorder.js';
import type { World } from './world.js';

const codeOf = (error: unknown): string => (isLockError(error) ? error.code : 'none');

/** A caller that asks, holds and releases, once or repeatedly. */
export class Caller {
  private round = 0;
  private readonly recorded: RecordedOptions;

  constructor(
    protected readonly world: World,
    protected readonly plan: CallerPlan,
    protected readonly process: SimulatedProcess,
    private readonly name: string,
  ) {
    this.recorded = recordedOptions(plan.options, process);
  }

  protected acquire(label: string, signal: AbortSignal | undefined): Promise<Lease> {
    const { key, options, scoped } = this.plan;
    return this.process.engine.acquire({ key, name: label, options, scoped, signal });
  }

  protected started(call: Call, lease: Lease): Hold[] {
    return [this.world.ledger.started(call, lease as LeaseHandle)];
  }

  ask(): void {
    this.round += 1;
    const { world, process } = this;
    const { key, keys = [key], options, abortAfterMs } = this.plan;
    const label = `${this.name}.${this.round}`;
    const waits = options.waitMs > 0;
    const call = world.pendingCalls.begun({ process, label, key: keys[0], options, waits, keys: this.plan.keys });
    world.recorder.record(process, {
      type: 'ask',
      op: label,
      call: 'acquire',
      keys,
      options: this.recorded,
      probe: this.mustBeServed(),
    });
    const abort = abortAfterMs === undefined ? undefined : new AbortController();
    world.note(`${label} asks for ${keys.join(' and ')}, waits ${options.waitMs}, ttl ${options.ttlMs}`, process);
    this.acquire(label, abort?.signal).then(
      (lease) => this.granted(call, lease),
      (error: unknown) => this.refused(call, error),
    );
    if (abort === undefined || abortAfterMs === undefined) return;
    process.after(abortAfterMs, () => {
      world.recorder.record(process, { type: 'abort', op: label });
      abort.abort();
    });
  }

  private granted(call: Call, lease: Lease): void {
    const { world, process, plan } = this;
    world.pendingCalls.delete(call);
    const holds = this.started(call, lease);
    const [hold] = holds;
    this.recordGrant(call.label, holds);
    for (const { ownerToken, lease: part } of holds)
      world.note(`${call.label} holds ${part.key}, ${ownerToken} #${part.fencingToken}`, process);
    const { extend } = plan;
    if (extend !== undefined) process.after(extend.afterMs, () => this.extend(hold, extend.ttlMs));
    const { downgradeAfterMs } = plan;
    if (downgradeAfterMs !== undefined) process.after(downgradeAfterMs, () => this.downgrade(hold));
    const end = (): void => this.release(holds, lease);
    if (plan.holdMs === 0) process.nextTurn(end);
    else process.after(plan.holdMs, end);
  }

  private record(op: string, event: Bare<OfOperation, 'op' | 'at'>): void {
    this.world.recorder.record(this.process, { op, ...event });
  }

  private recordGrant(op: string, holds: readonly Hold[]): void {
    const { process, world } = this;
    const byKey = (valueOf: (hold: Hold) => number): Record<string, number> =>
      Object.fromEntries(holds.map((hold) => [hold.lease.key, valueOf(hold)]));
    this.record(op, {
      type: 'granted',
      tokens: byKey(({ lease }) => lease.fencingToken),
      sentAt: byKey(({ lease }) => process.realMs(lease.grant.startedAt - process.plan.offset)),
      leases: byKey(({ lease }) => lease.grant.passes),
      until: world.timeline.now + process.realMs(Math.min(...holds.map(({ lease }) => lease.remainingMs()))),
    });
  }

  private refused(call: Call, error: unknown): void {
    const { world, process } = this;
    world.note(`${call.label} refused: ${String(error)}`, process);
    world.pendingCalls.delete(call);
    this.record(call.label, { type: 'refused', code: codeOf(error), message: String(error) });
    this.goOn();
  }

  /** Without faults no lock is held for this long, so the caller must be granted it. */
  private mustBeServed(): true | undefined {
    const { options, abortAfterMs } = this.plan;
    const isPatient = options.waitMs === PATIENT_MS && abortAfterMs === undefined;
    return isPatient && isCalm(this.world.plan) ? true : undefined;
  }

  private extend({ call: { label }, released, lease, op }: Hold, ttlMs: number): void {
    if (released) return;
    this.record(op, { type: 'extend', ttlMs });
    this.changes(`${label} extend`, lease.extend(ttlMs), (code) => {
      const until = this.world.timeline.now + this.process.realMs(lease.remainingMs());
      this.record(op, { type: 'extended', code, until });
    });
  }

  private downgrade(hold: Hold): void {
    const { lease, op, released } = hold;
    if (released || !lease.isHeld()) return;
    hold.reads = true;
    this.world.note(`${op} downgrades ${lease.key}`, this.process);
    this.record(op, { type: 'downgrade' });
    this.changes(`${op} downgrade`, lease.downgrade(), (code) => this.record(op, { type: 'downgraded', code }));
  }

  private release(holds: readonly Hold[], lease: Lease): void {
    const [{ op }] = holds;
    this.world.note(`${op} releases ${lease.keys.join(' and ')}`, this.process);
    this.record(op, { type: 'release', held: lease.isHeld() });
    for (const hold of holds) {
      if (hold.lease.isHeld()) this.world.ledger.mayStay(hold, this.plan.extend?.ttlMs);
      hold.released = true;
    }
    this.changes(`${op} release`, lease.release(), (code) => {
      if (code !== 'ok')
        this.world.recorder.record(this.process, { type: 'stray', message: `a release rejected with ${code}` });
      this.record(op, { type: 'released' });
      if (lease.isHeld()) this.record(op, { type: 'proven', until: Infinity });
      this.goOn();
    });
  }

  /** Awaits a change of a lease, which is pending until then. */
  private changes(label: string, change: Promise<void>, settled: (code: string) => void): void {
    const { process, world } = this;
    const { key, options } = this.plan;
    const call = world.pendingCalls.begun({ process, label, key, options });
    const settle = (code: string): void => {
      world.pendingCalls.delete(call);
      settled(code);
    };
    change.then(
      () => settle('ok'),
      (error: unknown) => settle(codeOf(error)),
    );
  }

  private goOn(): void {
    const { plan, process } = this;
    if (this.round >= plan.rounds || process.draining) return;
    if (plan.gapMs === 0) process.nextTurn(() => this.ask());
    else process.after(plan.gapMs, () => this.ask());
  }
}
