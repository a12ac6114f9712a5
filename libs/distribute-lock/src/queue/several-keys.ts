import { isLockError } from '../errors/is-lock-error.js';
import { JointLease, releaseAll } from '../lease/joint-lease.js';
import { LeaseHandle } from '../lease/lease-handle.js';
import type { Lease } from '../lease/lease.js';
import type { LockCall } from '../lease/lock-call.js';
import type { Clock } from '../runtime/clock.js';
import { AtOnce, NotAtOnce } from './at-once.js';
import { contended, waitTimedOut } from './refusals.js';
import { Round } from './round.js';

/** What several keys are taken with. */
export interface SeveralKeysParts {
  readonly clock: Clock;
  readonly atOnce: AtOnce;
  /** Takes one key. */
  readonly one: (call: LockCall) => Promise<Lease>;
  /** A call that would not wait was refused. */
  readonly refused: (call: LockCall, error: Error) => void;
}

/**
 * Takes several keys, all or none: in one command where nobody else has them, otherwise one after the other in ascending order.
 * Those that it has are kept while it waits for the next one. In one order no circle of waiting callers can close, and a key
 * that is given back whenever another one is missing might never be got at all.
 */
export class SeveralKeys {
  constructor(private readonly parts: SeveralKeysParts) {}

  /** @param calls - one for each key, in ascending order, alike but for the key */
  async acquire(calls: readonly LockCall[]): Promise<Lease> {
    const since = this.parts.clock.now();
    const taken = this.parts.atOnce.mayTry(calls) ? await this.takeAtOnce(calls) : undefined;
    if (taken !== undefined) {
      if (taken.every((lease) => lease.isHeld())) return new JointLease(taken);
      await releaseAll(taken);
    }
    for (;;) {
      const lease = await this.takeInOrder(calls, since);
      if (lease !== undefined) return lease;
      const waitedMs = this.parts.clock.now() - since;
      if (waitedMs >= calls[0].options.waitMs) throw waitTimedOut(calls[0], waitedMs, -1);
    }
  }

  private async takeAtOnce(calls: readonly LockCall[]): Promise<Lease[] | undefined> {
    const [call] = calls;
    try {
      return await this.parts.atOnce.take(calls);
    } catch (error) {
      if (!(error instanceof NotAtOnce) && !isLockError(error, 'LOCK_UNAVAILABLE')) throw error;
      // What was in the way is asked for once more, and waited for.
      if (call.options.waitMs > 0) return undefined;
      if (!(error instanceof NotAtOnce)) throw error;
      const refusal = contended(call, error.remainingMs);
      this.parts.refused(call, refusal);
      throw refusal;
    }
  }

  /** Answers nothing when one of the keys was lost before the last one was there: then all is to be done again. */
  private async takeInOrder(calls: readonly LockCall[], since: number): Promise<Lease | undefined> {
    const round = new Round(calls[0].signal);
    const taken: Lease[] = [];
    try {
      for (const call of calls) {
        const lease = await this.parts.one({ ...this.within(call, since), signal: round.signal });
        if (calls.length > taken.length + 1 && lease instanceof LeaseHandle) lease.awaitOthers();
        taken.push(lease);
        round.keep(lease);
      }
      await this.renewAll(taken, calls[0]);
      if (taken.every((lease) => lease.isHeld())) return begun(taken);
      await releaseAll(taken);
      return undefined;
    } catch (error) {
      await releaseAll(taken);
      if (round.lost && isLockError(error, 'LOCK_ABORTED', 'LEASE_LOST')) return undefined;
      throw isLockError(error, 'LOCK_WAIT_TIMEOUT') ? this.timedOut(calls[0], error, since) : error;
    } finally {
      round.end();
    }
  }

  /** The first keys were taken a while ago: where their ends count from now, they are set anew. */
  private async renewAll(taken: readonly Lease[], { options }: LockCall): Promise<void> {
    if (options.renew && options.release === 'end') return;
    await Promise.all(taken.slice(0, -1).map((lease) => lease.extend(options.ttlMs)));
  }

  /** One deadline for all. */
  private within(call: LockCall, since: number): LockCall {
    const { options } = call;
    if (options.waitMs === 0) return call;
    const restMs = since + options.waitMs - this.parts.clock.now();
    return { ...call, options: { ...options, waitMs: Math.max(1, restMs) } };
  }

  private timedOut(call: LockCall, { retryAfterMs }: { retryAfterMs?: number }, since: number): Error {
    return waitTimedOut(call, this.parts.clock.now() - since, retryAfterMs ?? -1);
  }
}

function begun(taken: readonly Lease[]): Lease {
  for (const lease of taken) if (lease instanceof LeaseHandle) lease.begin();
  return new JointLease(taken);
}
