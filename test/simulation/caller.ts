import { isLockError } from '../../libs/distribute-lock/src/errors.js';
import { surelyOverMs } from '../../libs/distribute-lock/src/engine/lease/grant.js';
import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import type { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import { CLAIM_WINDOW_MS } from '../../libs/distribute-lock/src/store/protocol.js';
import type { RecordedOptions } from '../histories/event.js';
import type { Hold } from './hold.js';
import { isCalm, PATIENT_MS, type CallerPlan } from './plan.js';
import type { PendingCall } from './pending-calls.js';
import { recordedOptions } from './recorder.js';
import type { SimulatedProcess } from './simulated-process.js';
import type { World } from './world.js';

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

  /** The operations that record its call, and their keys. */
  protected ops(label: string): Readonly<Record<string, string>> {
    return { [label]: this.plan.key };
  }

  protected acquire(label: string, signal: AbortSignal | undefined): Promise<Lease> {
    const { key, options, scoped } = this.plan;
    return this.process.engine.acquire({ key, name: label, options, scoped, signal });
  }

  protected started(pendingCall: PendingCall, lease: Lease): Hold[] {
    return [this.world.ledger.started(pendingCall, lease as LeaseHandle)];
  }

  ask(): void {
    this.round += 1;
    const { world, process } = this;
    const { key, keys, options, abortAfterMs } = this.plan;
    const label = `${this.name}.${this.round}`;
    const pendingCall = world.pendingCalls.ask(process, label, keys?.[0] ?? key, options, keys);
    const abort = abortAfterMs === undefined ? undefined : new AbortController();
    world.note(
      `${label} asks for ${(keys ?? [key]).join(' and ')}, waits ${options.waitMs}, ttl ${options.ttlMs}`,
      process,
    );
    const ops = Object.entries(this.ops(label));
    for (const [op, of] of ops) this.asks(op, of);
    this.acquire(label, abort?.signal).then(
      (lease) => this.granted(pendingCall, lease),
      (error: unknown) => {
        world.note(`${label} refused: ${String(error)}`, process);
        world.pendingCalls.answered(pendingCall);
        for (const [op] of ops) world.recorder.record(process, { type: 'refused', op, ...outcomeOf(error) });
        this.goOn();
      },
    );
    if (abort === undefined || abortAfterMs === undefined) return;
    process.after(abortAfterMs, () => {
      for (const [op] of ops) world.recorder.record(process, { type: 'abort', op });
      abort.abort();
    });
  }

  private asks(op: string, key: string): void {
    const { plan, process, recorded: options } = this;
    // Without faults no lock is held for this long.
    const isCertain = plan.options.waitMs === PATIENT_MS && plan.abortAfterMs === undefined && isCalm(this.world.plan);
    this.world.recorder.record(process, {
      type: 'ask',
      op,
      call: 'acquire',
      keys: [key],
      options,
      ...(isCertain ? { probe: true } : {}),
      ...(plan.keys === undefined ? {} : { part: true }),
    });
  }

  private granted(pendingCall: PendingCall, lease: Lease): void {
    const { world, process, plan } = this;
    world.pendingCalls.answered(pendingCall);
    const holds = this.started(pendingCall, lease);
    const [hold] = holds;
    for (const { ownerToken, lease: part } of holds)
      world.note(`${pendingCall.label} holds ${part.key}, ${ownerToken} #${part.fencingToken}`, process);
    const { extend } = plan;
    if (extend !== undefined) process.after(extend.afterMs, () => this.extend(hold, extend.ttlMs));
    const { downgradeAfterMs } = plan;
    if (downgradeAfterMs !== undefined) process.after(downgradeAfterMs, () => this.downgrade(hold));
    const end = (): void => this.release(holds, lease);
    if (plan.holdMs === 0) process.nextTurn(end);
    else process.after(plan.holdMs, end);
  }

  private extend(hold: Hold, ttlMs: number): void {
    const { world, process } = this;
    const op = hold.pendingCall.label;
    if (hold.released) return;
    world.recorder.record(process, { type: 'extend', op, ttlMs: process.realMs(ttlMs) });
    const settled = (code: string): void => {
      if (!hold.released) world.ledger.sample(hold);
      world.recorder.record(process, { type: 'extended', op, code });
    };
    hold.lease.extend(ttlMs).then(
      () => settled('ok'),
      (error: unknown) => settled(outcomeOf(error).code),
    );
  }

  private downgrade(hold: Hold): void {
    const { world, process } = this;
    const { label: op, key } = hold.pendingCall;
    if (hold.released || !hold.lease.isHeld()) return;
    hold.reads = true;
    world.note(`${op} downgrades ${key}`, process);
    world.recorder.record(process, { type: 'downgrade', op });
    const settled = (code: string): void => world.recorder.record(process, { type: 'downgraded', op, code });
    hold.lease.downgrade().then(
      () => settled('ok'),
      (error: unknown) => settled(outcomeOf(error).code),
    );
  }

  private release(holds: readonly Hold[], lease: Lease): void {
    const { world, process } = this;
    world.note(`${holds[0].pendingCall.label} releases ${lease.keys.join(' and ')}`, process);
    for (const hold of holds) this.ends(hold);
    lease.release().then(
      () => {
        for (const hold of holds) this.released(hold);
        this.goOn();
      },
      (error: unknown) =>
        world.recorder.record(process, { type: 'stray', message: `a release rejected: ${String(error)}` }),
    );
  }

  private released(hold: Hold): void {
    const { recorder } = this.world;
    const op = hold.pendingCall.label;
    const until = hold.provenUntil(this.world);
    if (until !== undefined) recorder.record(this.process, { type: 'proven', op, until });
    recorder.record(this.process, { type: 'released', op });
  }

  /** Records the end of the hold, and until when the key may stay taken. */
  private ends(hold: Hold): void {
    const { world, process } = this;
    const { key, options, label: op } = hold.pendingCall;
    const held = hold.lease.isHeld();
    if (options.minHoldMs > 0 && held) {
      const rest = hold.lease.startedAt + options.minHoldMs - process.now();
      world.pendingCalls.keptUntil(key, world.timeline.now + process.realMs(rest));
    }
    if (options.release === 'expire' && held) {
      // A claimed offer keeps its claim window when the ttl is shorter.
      const longestMs = Math.max(options.ttlMs, hold.lease.grant.ttlMs, this.plan.extend?.ttlMs ?? 0, CLAIM_WINDOW_MS);
      world.pendingCalls.leftUntil(key, world.timeline.now + process.realMs(surelyOverMs(longestMs)));
    }
    hold.released = true;
    world.recorder.record(process, { type: 'release', op, held });
  }

  private goOn(): void {
    const { plan, process } = this;
    if (this.round >= plan.rounds || process.draining) return;
    if (plan.gapMs === 0) process.nextTurn(() => this.ask());
    else process.after(plan.gapMs, () => this.ask());
  }
}

function outcomeOf(error: unknown): { readonly code: string; readonly message: string } {
  return { code: isLockError(error) ? error.code : 'none', message: String(error) };
}
