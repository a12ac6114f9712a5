import { isLockError } from '../../libs/distribute-lock/src/errors.js';
import { surelyOverMs, validUntil } from '../../libs/distribute-lock/src/engine/lease/grant.js';
import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import type { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import { CLAIM_WINDOW_MS } from '../../libs/distribute-lock/src/store/protocol.js';
import type { Hold } from './hold.js';
import { isCalm, PATIENT_MS, type CallerPlan } from './plan.js';
import type { PendingCall } from './pending-calls.js';
import type { SimulatedProcess } from './simulated-process.js';
import type { World } from './world.js';

/** A release without a reply from the store resolves after 100 ms. */
const RELEASE_MS = 100;

/** A caller that asks, holds and releases, once or repeatedly. */
export class Caller {
  private round = 0;

  constructor(
    protected readonly world: World,
    protected readonly plan: CallerPlan,
    protected readonly process: SimulatedProcess,
    private readonly name: string,
  ) {}

  /** Registers a call that must settle. */
  protected pendingCall(label: string): PendingCall {
    const { key, options } = this.plan;
    const more = { waits: options.waitMs > 0 };
    return this.world.pendingCalls.ask(this.process, label, key, options.waitMs, options, more);
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
    const { key, keys = [key], options, abortAfterMs } = this.plan;
    const label = `${this.name}.${this.round}`;
    const pendingCall = this.pendingCall(label);
    const abort = abortAfterMs === undefined ? undefined : new AbortController();
    world.note(`${label} asks for ${keys.join(' and ')}, waits ${options.waitMs}, ttl ${options.ttlMs}`, process);
    this.acquire(label, abort?.signal).then(
      (lease) => this.granted(pendingCall, lease),
      (error: unknown) => this.refused(pendingCall, error, abort?.signal.aborted === true),
    );
    if (abort === undefined || abortAfterMs === undefined) return;
    process.after(abortAfterMs, () => {
      abort.abort();
      process.nextTurn(() => {
        if (world.pendingCalls.isOpen(pendingCall)) world.fail('an aborted caller was not rejected at once', label);
      });
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

  private refused(pendingCall: PendingCall, error: unknown, aborted: boolean): void {
    const { world, process } = this;
    world.note(`${pendingCall.label} refused: ${String(error)}`, process);
    world.pendingCalls.answered(pendingCall);
    const { waitMs } = pendingCall.options;
    const waited = process.plan.rate * (world.timeline.now - pendingCall.calledAt) + 1e-6 >= waitMs;
    const right =
      (isLockError(error, 'LOCK_CONTENDED') && waitMs === 0) ||
      (isLockError(error, 'LOCK_WAIT_TIMEOUT') && waitMs > 0 && waited && !this.mustBeServed()) ||
      (isLockError(error, 'LOCK_UNAVAILABLE') && waited && !isCalm(world.plan)) ||
      (isLockError(error, 'LOCK_ABORTED') && aborted) ||
      (isLockError(error, 'LOCK_SHUTDOWN') && process.draining);
    if (!right) world.fail('a caller was refused without a valid reason', `${pendingCall.label}: ${String(error)}`);
    this.goOn();
  }

  /** Without faults no lock is held for this long, so the caller must be granted it. */
  private mustBeServed(): boolean {
    return this.plan.options.waitMs === PATIENT_MS && isCalm(this.world.plan);
  }

  private extend(hold: Hold, ttlMs: number): void {
    const { world, process } = this;
    const { label, key, options } = hold.pendingCall;
    if (hold.released) return;
    const pendingCall = world.pendingCalls.ask(process, `${label} extend`, key, 0, options);
    const calledAt = process.now();
    hold.lease.extend(ttlMs).then(
      () => {
        world.pendingCalls.answered(pendingCall);
        const proven = validUntil(calledAt, ttlMs) - process.now();
        if (options.maxHoldMs === Infinity && hold.lease.remainingMs() < proven - 1e-3)
          world.fail('an extension did not lengthen the lease', label);
      },
      (error: unknown) => {
        world.pendingCalls.answered(pendingCall);
        const shutDown = isLockError(error, 'LOCK_SHUTDOWN') && process.draining;
        if (shutDown || isLockError(error, 'LEASE_LOST', 'LOCK_UNAVAILABLE')) return;
        world.fail('an extension failed without a reason', `${label}: ${String(error)}`);
      },
    );
  }

  private downgrade(hold: Hold): void {
    const { world, process } = this;
    const { label, key, options } = hold.pendingCall;
    if (hold.released || !hold.lease.isHeld()) return;
    hold.reads = true;
    world.note(`${label} downgrades ${key}`, process);
    // The extension may be executed as long as the grant lasts, also when the hold ends by maxHold.
    const leftMs = hold.lease.grant.validUntil - process.now();
    const pendingCall = world.pendingCalls.ask(process, `${label} downgrade`, key, leftMs, options);
    hold.lease.downgrade().then(
      () => world.pendingCalls.answered(pendingCall),
      (error: unknown) => {
        world.pendingCalls.answered(pendingCall);
        const shutDown = isLockError(error, 'LOCK_SHUTDOWN') && process.draining;
        const mayEnd = !options.renew || options.maxHoldMs < Infinity || !isCalm(world.plan);
        if (shutDown || (mayEnd && isLockError(error, 'LEASE_LOST', 'LOCK_UNAVAILABLE'))) return;
        if (hold.released && isLockError(error, 'LEASE_LOST')) return;
        world.fail('a downgrade failed without a reason', `${label}: ${String(error)}`);
      },
    );
  }

  private release(holds: readonly Hold[], lease: Lease): void {
    const { world, process } = this;
    const { label, key, options } = holds[0].pendingCall;
    world.note(`${label} releases ${lease.keys.join(' and ')}`, process);
    for (const hold of holds) this.ends(hold);
    const pendingCall = world.pendingCalls.ask(process, `${label} release`, key, RELEASE_MS, options);
    lease.release().then(
      () => {
        world.pendingCalls.answered(pendingCall);
        if (lease.isHeld()) world.fail('a released lease is valid', label);
        this.goOn();
      },
      (error: unknown) => world.fail('a release rejected', `${label}: ${String(error)}`),
    );
  }

  /** Records until when the key may stay taken. */
  private ends(hold: Hold): void {
    const { world, process } = this;
    const { key, options } = hold.pendingCall;
    if (options.minHoldMs > 0 && hold.lease.isHeld()) {
      const rest = hold.lease.startedAt + options.minHoldMs - process.now();
      world.pendingCalls.keptUntil(key, world.timeline.now + process.realMs(rest));
    }
    if (options.release === 'expire' && hold.lease.isHeld()) {
      // A claimed offer keeps its claim window when the ttl is shorter.
      const longestMs = Math.max(options.ttlMs, hold.lease.grant.ttlMs, this.plan.extend?.ttlMs ?? 0, CLAIM_WINDOW_MS);
      world.pendingCalls.leftUntil(key, world.timeline.now + process.realMs(surelyOverMs(longestMs)));
      world.ledger.left(hold);
    }
    hold.released = true;
  }

  private goOn(): void {
    const { plan, process } = this;
    if (this.round >= plan.rounds || process.draining) return;
    if (plan.gapMs === 0) process.nextTurn(() => this.ask());
    else process.after(plan.gapMs, () => this.ask());
  }
}
