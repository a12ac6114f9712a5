import { isLockError } from '../errors.js';
import type { Lease } from '../engine/lease/lease.js';
import type { LockCall } from '../engine/lease/lock-call.js';
import type { Duration } from '../options/values.js';

/** One lease of a leader. @public */
export interface LeaderTerm {
  /** Larger than that of every earlier term, on any process. Pass it to resources that reject smaller tokens. */
  readonly fencingToken: number;
  /** Whether the lease is proven at this moment. It is computed from the clock, so it is `false` at once after a pause of the process. */
  readonly isLeader: boolean;
  /** Aborts when the lease is lost, on `resign()` and `stop()`, and when the shutdown of the application begins. End the work then. */
  readonly signal: AbortSignal;
}

/** Work of a leader. Its term ends when the promise settles. @public */
export type LeaderWork = (term: LeaderTerm) => Promise<void>;

/** Options of {@link Locks.lead}. @public */
export interface LeaderOptions {
  /**
   * How long a *crashed* leader blocks the next one; at least 50 ms.
   * @defaultValue `'15s'`
   */
  readonly ttl?: Duration<'or duration(text)'>;
  /**
   * Labels errors, events and metrics.
   * @defaultValue as for `acquire()`
   */
  readonly name?: string;
  /**
   * The shortest and the longest pause after work that ended or failed; it doubles with each such term, and varies by a
   * fifth between the two.
   * @defaultValue `['1s', '30s']`
   */
  readonly backoff?: readonly [shortest: Duration, longest: Duration];
  /**
   * Called with the error of work that failed, and with an error that ends the candidacy.
   * @defaultValue a warning of the process
   */
  readonly onError?: (error: unknown) => void;
}

/** What a leader needs of the locks of a connection. @internal */
export interface LeaderLocks {
  acquire(call: LockCall): Promise<Lease>;
}

/** A candidacy with the times of its pauses. @internal */
export interface CandidacyPlan {
  readonly call: LockCall;
  readonly work: LeaderWork;
  readonly backoffMs: readonly [number, number];
  readonly onError: (error: unknown) => unknown;
}

const candidates = new WeakMap<LeaderLocks, Set<Leadership>>();

/** Begins to stop all leaders of the connection. The drain waits for their work, as for other work that holds a lock. @internal */
export function stopLeaders(locks: LeaderLocks): void {
  for (const leader of candidates.get(locks) ?? []) void leader.stop();
}

/**
 * A candidate that leads again and again, for one term at a time, until `stop()`. `lead()` returns it.
 * @public
 */
export class Leadership {
  private readonly stopping = new AbortController();
  private term: Term | undefined;
  private unsuccessful = 0;
  private readonly done: Promise<void>;

  /** @internal */
  constructor(
    private readonly locks: LeaderLocks,
    private readonly plan: CandidacyPlan,
  ) {
    let all = candidates.get(locks);
    if (all === undefined) candidates.set(locks, (all = new Set()));
    all.add(this);
    this.done = this.stand().finally(() => all.delete(this));
  }

  /** Whether this process leads, and its lease is proven at this moment. A local fact, without a command. */
  get isLeader(): boolean {
    return this.term?.isLeader === true;
  }

  /** Ends the present term, if there is one; the candidate stands again after the pause of option `backoff`. */
  resign(): void {
    this.term?.end(new Error('The leader resigned.'));
  }

  /** Ends the candidacy. Resolves when the work has settled and the lock is released. */
  stop(): Promise<void> {
    const reason = new Error('The leader was stopped.');
    this.stopping.abort(reason);
    this.term?.end(reason);
    return this.done;
  }

  private async stand(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      try {
        const lease = await this.locks.acquire({ ...this.plan.call, signal: this.stopping.signal });
        await this.lead(lease);
      } catch (error) {
        if (isLockError(error, 'LOCK_ABORTED', 'LOCK_SHUTDOWN')) return;
        if (!isLockError(error, 'LOCK_WAIT_TIMEOUT', 'LOCK_UNAVAILABLE')) return this.report(error);
        await this.pause(isLockError(error, 'LOCK_UNAVAILABLE') ? varied(1_000) : 0);
      }
    }
  }

  /** A report that fails ends neither the candidacy nor the process. */
  private report(error: unknown): void {
    void (async () => this.plan.onError(error))().catch(warn);
  }

  /** The lock is released only after the work has settled, so that two leaders never work at once. */
  private async lead(lease: Lease): Promise<void> {
    const since = performance.now();
    const term = new Term(lease);
    this.term = term;
    try {
      if (!this.stopping.signal.aborted) await this.plan.work(term);
    } catch (error) {
      if (!term.signal.aborted) this.report(error);
    }
    this.term = undefined;
    await lease.release();
    const { backoffMs } = this.plan;
    this.unsuccessful = performance.now() - since > backoffMs[1] ? 0 : this.unsuccessful + 1;
    await this.pause(pauseAfter(this.unsuccessful, backoffMs));
  }

  /** Not unref'ed: a candidate keeps its process alive. */
  private pause(ms: number): Promise<void> {
    const { signal } = this.stopping;
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener('abort', end);
    });
  }
}

/** Reports an error as a warning of the process. @internal */
export function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}

/** The pause after that many terms in a row whose work ended or failed early, within the two bounds. @internal */
export function pauseAfter(unsuccessful: number, [shortest, longest]: readonly [number, number]): number {
  const doubled = shortest * 2 ** Math.max(0, unsuccessful - 1);
  return Math.min(longest, Math.max(shortest, varied(Math.min(longest, doubled))));
}

/** Candidates that failed together do not return together. */
const varied = (ms: number): number => ms * (0.8 + 0.4 * Math.random());

class Term implements LeaderTerm {
  readonly fencingToken: number;
  private readonly ended = new AbortController();
  readonly signal = this.ended.signal;

  constructor(private readonly lease: Lease) {
    this.fencingToken = lease.fencingToken;
    const { signal } = lease;
    if (signal.aborted) this.end(signal.reason);
    else signal.addEventListener('abort', () => this.end(signal.reason), { once: true });
  }

  get isLeader(): boolean {
    return !this.ended.signal.aborted && this.lease.isHeld();
  }

  end(reason: unknown): void {
    this.ended.abort(reason);
  }
}
