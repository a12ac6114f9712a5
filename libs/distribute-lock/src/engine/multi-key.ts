import { isLockError } from '../errors.js';
import { MOST_LATE_ANSWERS, restMs } from './lease/grant.js';
import { LeaseHandle } from './lease/lease-handle.js';
import type { Lease } from './lease/lease.js';
import { planOf } from './lease/lifetime-plan.js';
import type { LockCall } from './lease/lock-call.js';
import { MultiKeyLease, releaseAll } from './lease/multi-key-lease.js';
import { Timer } from '../runtime/timers.js';
import { type AcquireAllAnswer, whenAnswered } from '../store/lock-store.js';
import { type AbortListener, addAbortListener, removeAbortListener } from './abort-listeners.js';
import type { Acquiring } from './acquiring.js';
import type { EngineContext } from './context.js';
import type { Entering } from './entering.js';
import { exclusive } from './exclusive.js';
import type { Attempt } from './key-state.js';
import { kindOfOption } from './kinds.js';
import { aborted, contended, unavailable, waitTimedOut } from './refusals.js';
import { reportHold, reportRefused, reportWait } from './reports.js';
import { MOST_LATE_MS } from './settling.js';

const SLOW = new Error('it was too slow to answer for every key.');
const LOST = new Error('one of its keys was lost before the last one was acquired.');

/**
 * Takes several keys, all or none: by one command if all are free, otherwise one after the other in ascending order. The call
 * keeps the keys that it has while it waits for the next one. The common order prevents deadlocks. A call that released its keys
 * whenever one is missing might never get all of them.
 */
export class MultiKey {
  private readonly command: OneCommand;
  /** The leases of each multi-key call. */
  private readonly parts = new WeakMap<LeaseHandle, readonly LeaseHandle[]>();

  constructor(
    private readonly context: EngineContext,
    acquiring: Acquiring,
    entering: Entering,
    /** Takes one key. */
    private readonly acquireOne: (call: LockCall) => Promise<Lease>,
  ) {
    this.command = new OneCommand(context, acquiring, entering);
  }

  /** @param given - one call for each key, in ascending order, equal except for the key */
  async acquire(given: readonly LockCall[]): Promise<Lease> {
    const since = this.context.clock.now();
    const first = reportWait(given[0]);
    // Each key has a separate hold.
    const own = (): Partial<LockCall> => (first.trace === undefined ? {} : { trace: { ...first.trace } });
    try {
      return await this.take(
        given.map((call): LockCall => ({ ...call, ...own(), multiKey: true })),
        since,
      );
    } catch (error) {
      reportRefused(this.context.events, first, this.context.clock.now() - since, error as Error);
      throw error;
    }
  }

  /** The leases of the call that acquired this lease, for all its keys. */
  partsOf(lease: LeaseHandle): readonly LeaseHandle[] {
    return this.parts.get(lease) ?? [lease];
  }

  private async take(calls: readonly LockCall[], since: number): Promise<Lease> {
    const taken = this.command.mayTry(calls) ? await this.takeByOneCommand(calls, since) : undefined;
    if (taken !== undefined) {
      if (tooShort(taken, calls[0]).length === 0) return this.begun(taken, since);
      const lease = await this.takeInOrder(calls, since, taken);
      if (lease !== undefined) return lease;
    }
    for (;;) {
      const lease = await this.takeInOrder(calls, since);
      if (lease !== undefined) return lease;
      if (!this.hasTime(calls[0], since)) throw unavailable(calls[0], LOST);
    }
  }

  private async takeByOneCommand(calls: readonly LockCall[], since: number): Promise<Lease[] | undefined> {
    const [call] = calls;
    try {
      return await this.command.acquire(calls);
    } catch (error) {
      if (!(error instanceof KeyTaken) && !isLockError(error, 'LOCK_UNAVAILABLE')) throw error;
      // The caller waits for the missing key in the ordered attempt that follows.
      if (this.hasTime(call, since)) return undefined;
      if (!(error instanceof KeyTaken)) throw error;
      const retryAfterMs = this.context.estimates.of(call, error.remainingMs);
      throw this.tooLate(call, since, contended(call, retryAfterMs), retryAfterMs);
    }
  }

  /**
   * Acquires the keys that are missing, and begins the hold. Resolves with undefined if a key was lost before the last one was
   * acquired; the call then starts again.
   * @param given - the leases that one command acquired
   */
  private async takeInOrder(
    calls: readonly LockCall[],
    since: number,
    given: readonly Lease[] = [],
  ): Promise<Lease | undefined> {
    const round = new Round(calls[0].signal);
    const { waitMs } = calls[0].options;
    // Several slow answers in sequence have the same limit as one.
    const waitLeftMs = since + waitMs - this.context.clock.now();
    // The event loop may have been blocked before the answer that granted the given leases.
    this.context.timers.add(round, MOST_LATE_MS + (given.length > 0 ? Math.max(0, waitLeftMs) : waitLeftMs));
    const taken = [...given];
    try {
      for (const lease of given) round.keep(lease);
      for (const call of calls.slice(given.length)) {
        const lease = await this.acquireOne({ ...this.within(call, since), signal: round.signal });
        taken.push(lease);
        round.keep(lease);
      }
      if ((await this.renewAll(taken, calls[0], round, given.length)) && taken.every((lease) => lease.isHeld()))
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
      this.context.timers.remove(round);
      round.end();
    }
  }

  /**
   * Extends the leases that a pause of two thirds of their ttl would end. The first keys were acquired some time ago: if their ttl
   * counts from the start of the work, they are extended in any case.
   * @param together - how many leases were acquired by one command
   * @returns false if that failed and there is time to start again
   */
  private async renewAll(taken: readonly Lease[], call: LockCall, round: Round, together: number): Promise<boolean> {
    const { options } = call;
    const { needsWholeTtl, ttlMs } = planOf(options);
    let short = needsWholeTtl && together === 0 ? taken.slice(0, -1) : tooShort(taken, call);
    try {
      for (let i = 0; i < MOST_LATE_ANSWERS && short.length > 0; i += 1, short = tooShort(taken, call)) {
        await Promise.race([Promise.all(short.map((lease) => lease.extend(ttlMs))), round.over]);
        if (round.signal.aborted) throw aborted(call);
      }
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
    const leftMs = since + options.waitMs - this.context.clock.now();
    return { ...call, options: { ...options, waitMs: Math.max(1, Math.ceil(leftMs)) } };
  }

  /** The lease of all keys, whose hold begins now. */
  begun(taken: readonly Lease[], since: number): Lease {
    const handles = taken.filter((lease) => lease instanceof LeaseHandle);
    for (const lease of handles) {
      lease.begin();
      this.parts.set(lease, handles);
      // From now on the hold may be reported as long.
      this.context.watchdog.watch(lease.grant);
    }
    const fencingTokens = handles.map(({ fencingToken }) => fencingToken);
    if (handles.length > 0)
      reportHold(
        handles.map(({ call }) => call),
        this.context.clock.now() - since,
        fencingTokens,
      );
    return new MultiKeyLease(taken);
  }

  private hasTime({ options }: LockCall, since: number): boolean {
    return this.context.clock.now() - since < options.waitMs;
  }

  /** A waiting call gets a timeout error, a non-waiting call the given refusal. */
  private tooLate(call: LockCall, since: number, refusal: Error, retryAfterMs: number): Error {
    return call.options.waitMs > 0 ? waitTimedOut(call, this.context.clock.now() - since, retryAfterMs) : refusal;
  }
}

/** The leases that have ended, or that a pause of two thirds of their ttl would end. A nested call has no separate lease. */
const tooShort = (leases: readonly Lease[], { options }: LockCall): readonly Lease[] =>
  leases.filter((lease) => lease instanceof LeaseHandle && lease.remainingMs() < restMs(planOf(options).ttlMs));

/** Takes several keys in order, once. It ends when the caller's signal aborts, a held key is lost, or its time has passed. */
class Round extends Timer {
  lost = false;
  late = false;
  /** Resolves when the round is aborted. */
  readonly over: Promise<void>;
  private readonly controller = new AbortController();
  private readonly stops: (() => void)[] = [];

  constructor(given: AbortSignal | undefined) {
    super();
    this.over = new Promise((resolve) => this.signal.addEventListener('abort', () => resolve(), { once: true }));
    if (given !== undefined) this.listen(given, () => this.controller.abort(given.reason));
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  due(): void {
    this.late = true;
    this.controller.abort();
  }

  keep({ signal }: Lease): void {
    this.listen(signal, () => {
      this.lost = true;
      this.controller.abort(signal.reason);
    });
  }

  end(): void {
    for (const stop of this.stops) stop();
  }

  private listen(signal: AbortSignal, onAbort: () => void): void {
    if (signal.aborted) return onAbort();
    const listener: AbortListener = { aborted: onAbort };
    addAbortListener(signal, listener);
    this.stops.push(() => removeAbortListener(signal, listener));
  }
}

/** One of the locks is held or waited for, so no lock was taken. */
class KeyTaken extends Error {
  constructor(readonly remainingMs: number) {
    super('Not all of the locks are free.');
  }
}

/** Takes several exclusive locks by one command, all or none. Afterwards each lease is independent. */
class OneCommand {
  constructor(
    private readonly context: EngineContext,
    private readonly acquiring: Acquiring,
    private readonly entering: Entering,
  ) {}

  /** Whether to try: not while this process has callers or grants for one of the keys. */
  mayTry(calls: readonly LockCall[]): boolean {
    if (this.context.store.acquireAll === undefined || kindOfOption(calls[0].options.kind) !== exclusive) return false;
    const keys = calls.map(({ key }) => key);
    if (this.context.store.mayTakeAll?.(keys) === false) return false;
    return keys.every((key) => this.entering.isUnused(key));
  }

  /**
   * Resolves with the leases, in the order of the calls.
   * @throws KeyTaken when at least one of the locks is not free
   */
  async acquire(calls: readonly LockCall[]): Promise<Lease[]> {
    const attempts: Attempt[] = [];
    const leases = calls.map(
      (call) =>
        new Promise<LeaseHandle>((resolve, reject) => {
          attempts.push(this.attempt(call, resolve, reject));
        }),
    );
    this.send(attempts);
    const results = await Promise.allSettled(leases);
    const refused = results.find((each) => each.status === 'rejected');
    const held = results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    if (refused === undefined) return held;
    await releaseAll(held);
    throw refused.reason;
  }

  private attempt(call: LockCall, resolve: (lease: LeaseHandle) => void, reject: (error: Error) => void): Attempt {
    // This attempt never waits, whatever the options of the call say.
    const nonWaiting = { ...call, options: { ...call.options, waitMs: 0 } };
    const list = this.entering.newCaller(nonWaiting, resolve, reject);
    const attempt = this.acquiring.attempts.create(list);
    attempt.wasSent(list.first!.plan.ttlMs, list.first!.since);
    return attempt;
  }

  private send(attempts: readonly Attempt[]): void {
    const sentAt = this.context.clock.now();
    const requests = attempts.map(({ list: { state }, ownerToken, ttlMs }) => ({
      key: state.key,
      ownerToken,
      ttlMs,
      wait: false,
      block: 1,
    }));
    const { acquiring } = this;
    whenAnswered(this.context.store.acquireAll!(requests), {
      answered: (answer) => attempts.forEach((attempt, i) => this.answered(attempt, answer, i, sentAt)),
      failed: (error) => attempts.forEach((attempt) => acquiring.failed(attempt, error)),
      late: () => attempts.forEach((attempt) => acquiring.late(attempt)),
    });
  }

  private answered(attempt: Attempt, answer: AcquireAllAnswer, index: number, sentAt: number): void {
    const { list, ownerToken, ttlMs } = attempt;
    const { attempts, wakeUps } = this.acquiring;
    attempt.commandEnded();
    if (answer.resent === true) this.acquiring.resent(attempt);
    if (answer.outcome === 'granted') {
      const fencingToken = answer.fencingTokens[index];
      const grant = this.acquiring.newGrant(list.state, ownerToken, ttlMs, sentAt, fencingToken, 1, 0);
      this.acquiring.won(attempt, grant, false);
    } else {
      if (attempt.finalUndoAt > 0) attempts.undo(attempt);
      if (!attempt.over) {
        attempts.end(attempt);
        wakeUps.wake({ reason: 'key taken', waiter: list.first!, error: new KeyTaken(answer.remainingMs) });
      }
    }
    this.context.changed(list.state);
  }
}
