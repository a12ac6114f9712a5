// Written by `npm run docs` from the table in ../lock-options.ts. Do not edit.
import type { Duration } from '../values.js';

/** How one lock behaves; every field can be set for the module, in the decorator and for a call, the nearest wins. @public */
export interface LockOptions {
  /**
   * How long a *crashed* holder blocks the others; at least 50 ms. While the work runs, the lease is renewed at a third of it.
   * After a hand-over from another process a ttl below 1750 ms counts as that much.
   * @defaultValue `'30s'`
   */
  readonly ttl?: Duration;
  /**
   * How long to wait when somebody else holds the lock. 0 fails at once.
   * @defaultValue `0`
   */
  readonly wait?: Duration;
  /**
   * Whether the lease is renewed while the work runs. Without renewal `ttl` is the hard end of the lease.
   * @defaultValue `true`
   */
  readonly renew?: boolean;
  /**
   * How long a lease may be held in all. Before it has passed, the signal aborts and the key is given back, also if `ttl` is longer.
   * @defaultValue no limit
   */
  readonly maxHold?: Duration;
  /**
   * How long the key stays taken at least, also when the work ends earlier (cron jobs on hosts with skewed clocks).
   * @defaultValue `0`
   */
  readonly minHold?: Duration;
  /**
   * Who comes next among waiters: `'process'` serves processes in turn and each process its own callers in order,
   * `'strict'` serves all callers of all processes in one order, at the price of one command a hand-over. Readers and semaphores
   * have one order of their own, whatever is said here.
   * @defaultValue `'process'`
   */
  readonly fair?: 'process' | 'strict';
  /**
   * Whether a call chain that holds the lock may enter it again (through `withLock` or a decorated method), without a command
   * and inside the outer lease. Without it such a call, which would wait for itself, fails at once with `LockUsageError`.
   * @defaultValue `false`
   */
  readonly reentrant?: boolean;
  /**
   * What the key is. `'exclusive'` and `'write'` (the same thing) let one holder in, `'read'` any number of readers while
   * nobody writes, `'semaphore'` as many as `permits` allow. All callers of a key must agree on it.
   * @defaultValue `'exclusive'`
   */
  readonly kind?: 'exclusive' | 'write' | 'read' | 'semaphore';
  /**
   * Of a semaphore: how many permits there are in all, 1 to 1024. All callers of a key must name the same number.
   * @defaultValue none; a semaphore must name it
   */
  readonly permits?: number;
  /**
   * Of a semaphore: how many permits this caller takes, 1 to `permits`.
   * @defaultValue `1`
   */
  readonly weight?: number;
  /**
   * When the key becomes free again. `'end'`: when the work has ended. `'expire'`: when its ttl runs out, counted from when the
   * lock was taken, whether the work ended well or failed (debounce, "please do not click twice", idempotency window);
   * `release()` and shutdown then give nothing back, and who waits, in this process too, waits for that end.
   *
   * Work that lasts is renewed as always, and the key then ends one ttl after the last renewal: never before `ttl` has passed
   * since it was taken, and never while the work runs. After a hand-over from another process a ttl below 1750 ms counts as
   * that much. With `minHold` the later end counts. Readers of one process share a
   * lease, which is kept for each of them until its ttl has passed.
   * @defaultValue `'end'`
   */
  readonly release?: 'end' | 'expire';
  /**
   * What a lost lease does to `withLock` and decorated methods: `'signal'` only aborts `lease.signal`,
   * `'throw'` also makes the call end with `LeaseLostError` once the work has ended.
   * @defaultValue `'signal'`
   */
  readonly onLost?: 'signal' | 'throw';
}

/** The values of all lock options, in the order of the table. */
export function lockOptionValues(options: LockOptions): readonly unknown[] {
  return [
    options.ttl,
    options.wait,
    options.renew,
    options.maxHold,
    options.minHold,
    options.fair,
    options.reentrant,
    options.kind,
    options.permits,
    options.weight,
    options.release,
    options.onLost,
  ];
}
