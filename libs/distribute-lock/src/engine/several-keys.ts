import { isLockError } from '../errors.js';
import { JointLease, releaseAll } from './lease/joint-lease.js';
import { LeaseHandle } from './lease/lease-handle.js';
import type { Lease } from './lease/lease.js';
import type { LockCall } from './lease/lock-call.js';
import type { Clock } from '../runtime/clock.js';
import type { Timers } from '../runtime/timers.js';
import { type AtOnce, NotAtOnce } from './at-once.js';
import { aborted, contended, unavailable, waitTimedOut } from './refusals.js';
import { reportHold, reportWait } from './reports.js';
import { Round } from './round.js';

/** A non-waiting call does not wait for several slow answers in sequence. */
const IMPATIENT_MS = 850;
const SLOW = new Error('it was too slow to answer for every key.');
const LOST = new Error('one of its keys was lost before the last one was acquired.');

/** Dependencies of {@link SeveralKeys}. */
export interface SeveralKeysParts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly atOnce: AtOnce;
  /** Takes one key. */
  readonly one: (call: LockCall) => Promise<Lease>;
  readonly retryAfterMs: (call: LockCall, leftMs: number) => number;
  /** Called when the whole call has ended without a lease. */
  readonly refused: (call: LockCall, waitedMs: number, error: unknown) => void;
}

/**
 * Takes several keys, all or none: by one command if all are free, otherwise one after the other in ascending order. The call
 * keeps the keys that it has while it waits for the next one. The common order prevents deadlocks. A call that released its keys
 * whenever one is missing might never get all of them.
 */
export class SeveralKeys {
  constructor(private readonly parts: SeveralKeysParts) {}

  /** @param given - one call for each key, in ascending order, equal except for the key */
  async acquire(given: readonly LockCall[]): Promise<Lease> {
    const since = this.parts.clock.now();
    const first = reportWait(given[0]);
    // Each key has a separate hold.
    const own = (): Partial<LockCall> => (first.trace === undefined ? {} : { trace: { ...first.trace } });
    try {
      return await this.take(
        given.map((call): LockCall => ({ ...call, ...own(), joint: true })),
        since,
      );
    } catch (error) {
      this.parts.refused(first, this.parts.clock.now() - since, error);
      throw error;
    }
  }

  private async take(calls: readonly LockCall[], since: number): Promise<Lease> {
    const taken = this.parts.atOnce.mayTry(calls) ? await this.takeAtOnce(calls, since) : undefined;
    if (taken !== undefined) {
      if (taken.every((lease) => lease.isHeld())) return this.begun(taken, since);
      void releaseAll(taken);
    }
    for (;;) {
      const lease = await this.takeInOrder(calls, since);
      if (lease !== undefined) return lease;
      if (!this.hasTime(calls[0], since)) throw this.tooLate(calls[0], since, unavailable(calls[0], LOST));
    }
  }

  private async takeAtOnce(calls: readonly LockCall[], since: number): Promise<Lease[] | undefined> {
    const [call] = calls;
    try {
      return await this.parts.atOnce.take(calls);
    } catch (error) {
      if (!(error instanceof NotAtOnce) && !isLockError(error, 'LOCK_UNAVAILABLE')) throw error;
      // The caller waits for the missing key in the ordered attempt that follows.
      if (this.hasTime(call, since)) return undefined;
      if (!(error instanceof NotAtOnce)) throw error;
      const retryAfterMs = this.parts.retryAfterMs(call, error.remainingMs);
      throw this.tooLate(call, since, contended(call, retryAfterMs), retryAfterMs);
    }
  }

  /** Resolves with undefined if a key was lost before the last one was acquired; the call then starts again. */
  private async takeInOrder(calls: readonly LockCall[], since: number): Promise<Lease | undefined> {
    const round = new Round(calls[0].signal);
    if (calls[0].options.waitMs === 0) this.parts.timers.add(round, since + IMPATIENT_MS - this.parts.clock.now());
    const taken: Lease[] = [];
    try {
      for (const call of calls) {
        const lease = await this.parts.one({ ...this.within(call, since), signal: round.signal });
        taken.push(lease);
        round.keep(lease);
      }
      if ((await this.renewAll(taken, calls[0], round)) && taken.every((lease) => lease.isHeld()))
        return this.begun(taken, since);
      void releaseAll(taken);
      return undefined;
    } catch (error) {
      const released = releaseAll(taken);
      if (round.late) throw unavailable(calls[0], SLOW);
      if (isLockError(error, 'LEASE_LOST') || (round.lost && isLockError(error, 'LOCK_ABORTED'))) return undefined;
      // A caller that is refused one key finds the others free; a caller that leaves does not wait for the releases.
      if (isLockError(error, 'LOCK_CONTENDED', 'LOCK_WAIT_TIMEOUT')) await Promise.race([released, round.over]);
      throw isLockError(error, 'LOCK_WAIT_TIMEOUT') ? this.tooLate(calls[0], since, error, error.retryAfterMs) : error;
    } finally {
      this.parts.timers.remove(round);
      round.end();
    }
  }

  /**
   * The first keys were acquired some time ago. If their ttl counts from the start of the work, this extends them.
   * @returns false if that failed and there is time to start again
   */
  private async renewAll(taken: readonly Lease[], call: LockCall, round: Round): Promise<boolean> {
    const { options } = call;
    if (options.renew && options.release === 'end') return true;
    const extended = Promise.all(taken.slice(0, -1).map((lease) => lease.extend(options.ttlMs)));
    try {
      await Promise.race([extended, round.over]);
      if (round.signal.aborted) throw aborted(call);
      return true;
    } catch (error) {
      if (options.waitMs > 0 && isLockError(error, 'LOCK_UNAVAILABLE')) return false;
      throw error;
    }
  }

  /** All keys share one deadline. */
  private within(call: LockCall, since: number): LockCall {
    const { options } = call;
    if (options.waitMs === 0) return call;
    const restMs = since + options.waitMs - this.parts.clock.now();
    return { ...call, options: { ...options, waitMs: Math.max(1, Math.ceil(restMs)) } };
  }

  private begun(taken: readonly Lease[], since: number): Lease {
    const handles = taken.filter((lease) => lease instanceof LeaseHandle);
    for (const lease of handles) lease.begin();
    const fencingTokens = handles.map(({ fencingToken }) => fencingToken);
    if (handles.length > 0)
      reportHold(
        handles.map(({ call }) => call),
        this.parts.clock.now() - since,
        fencingTokens,
      );
    return new JointLease(taken);
  }

  private hasTime({ options }: LockCall, since: number): boolean {
    return this.parts.clock.now() - since < options.waitMs;
  }

  /** A waiting call gets a timeout error, a non-waiting call the given refusal. */
  private tooLate(
    call: LockCall,
    since: number,
    refusal: Error,
    retryAfterMs = this.parts.retryAfterMs(call, -1),
  ): Error {
    return call.options.waitMs > 0 ? waitTimedOut(call, this.parts.clock.now() - since, retryAfterMs) : refusal;
  }
}
