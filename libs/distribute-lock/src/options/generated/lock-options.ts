// Written by `npm run docs` from the table in ../lock-options.ts. Do not edit.
import type { Duration } from '../values.js';

/** Options of a lock. A call overrides its decorator, a decorator the defaults of the module. @public */
export interface LockOptions {
  /**
   * How long a *crashed* holder blocks other callers; at least 50 ms. While the work runs, the lease is renewed whenever a third of it has passed.
   * After a hand-over from another process, a `ttl` below 1750 ms counts as 1750 ms.
   * @defaultValue `'30s'`
   */
  readonly ttl?: Duration<'or duration(text)'>;
  /**
   * How long to wait while another caller holds the lock. With 0 the call fails at once.
   * @defaultValue `0`
   */
  readonly wait?: Duration<'or duration(text)'>;
  /**
   * Whether the lease is renewed while the work runs. Without renewal the lease ends when `ttl` has passed.
   * @defaultValue `true`
   */
  readonly renew?: boolean;
  /**
   * The longest time that a lease may last. Before it has passed, `lease.signal` aborts and the key is released, even if `ttl` is longer.
   * With `release: 'expire'`, the key stays locked until its `ttl` has passed.
   * @defaultValue no limit
   */
  readonly maxHold?: Duration<'or duration(text)'>;
  /**
   * The shortest time that the key stays locked, even if the work ends earlier (cron jobs on hosts with skewed clocks).
   * @defaultValue `0`
   */
  readonly minHold?: Duration<'or duration(text)'>;
  /**
   * The order of waiters. `'process'` serves processes in turn, and the callers of each process in order. `'strict'` serves the callers
   * of all processes in one order, at the cost of one command per hand-over. Readers and semaphores use their own order and ignore
   * this option.
   * @defaultValue `'process'`
   */
  readonly fair?: 'process' | 'strict';
  /**
   * Whether a call chain that holds the lock may enter it again, through `withLock` or a decorated method. The inner call sends no
   * command and shares the outer lease. Without `reentrant` it would wait for itself, so it fails at once with `LockUsageError`.
   * @defaultValue `false`
   */
  readonly reentrant?: boolean;
  /**
   * The kind of lock. `'exclusive'` and its synonym `'write'` admit one holder. `'read'` admits any number of readers while no writer
   * holds the lock or waits for it. `'semaphore'` admits holders while `permits` are free. A process uses a key either as a semaphore or not; callers of
   * another process with the other kind wait until the key is free.
   * @defaultValue `'exclusive'`
   */
  readonly kind?: 'exclusive' | 'write' | 'read' | 'semaphore';
  /**
   * Semaphores only: the total number of permits, 1 to 1024. All callers of a process must pass the same number for a key. Another
   * process may know another number, as in a rolling deploy: each caller gets its permits while all permits in use fit within its number.
   * @defaultValue none; required for a semaphore
   */
  readonly permits?: number;
  /**
   * Semaphores only: how many permits this caller takes, 1 to `permits`.
   * @defaultValue `1`
   */
  readonly weight?: number;
  /**
   * When the key becomes free. `'end'`: when the work ends. `'expire'`: one `ttl` after the lock was acquired, whether the work succeeded
   * or failed (debounce, double-click protection, idempotency window). With `'expire'`, `release()` and shutdown release nothing, and
   * all waiters wait until the key expires, also those of this process.
   *
   * Longer work is renewed as usual, and the key expires one `ttl` after the last renewal: never before `ttl` has passed since the
   * acquisition, and never while the work holds its lease. After a hand-over from another process, a `ttl` below 1750 ms counts as 1750 ms. With
   * `minHold`, the later end applies. Readers of one process share a lease, which is kept until the `ttl` of each reader has passed.
   * @defaultValue `'end'`
   */
  readonly release?: 'end' | 'expire';
  /**
   * What a lost lease does to `withLock` and decorated methods. `'signal'` only aborts `lease.signal`. `'throw'` also rejects the call
   * with `LeaseLostError` after the work has succeeded; if the work fails, its own error is kept. Streams, files and web responses are
   * not affected.
   * @defaultValue `'signal'`
   */
  readonly onLost?: 'signal' | 'throw';
}

/** The names of all lock options, for messages of the compiler. @public */
export type LockOptionNames =
  'ttl, wait, renew, maxHold, minHold, fair, reentrant, kind, permits, weight, release, onLost';

/** Whether both objects have the same value for each lock option. */
export function sameLockOptions(one: LockOptions, other: LockOptions): boolean {
  return (
    one.ttl === other.ttl &&
    one.wait === other.wait &&
    one.renew === other.renew &&
    one.maxHold === other.maxHold &&
    one.minHold === other.minHold &&
    one.fair === other.fair &&
    one.reentrant === other.reentrant &&
    one.kind === other.kind &&
    one.permits === other.permits &&
    one.weight === other.weight &&
    one.release === other.release &&
    one.onLost === other.onLost
  );
}
