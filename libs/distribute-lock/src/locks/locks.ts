import { isLockError, LockConfigurationError } from '../errors.js';
import { checkKey, orderedKeys, plainKeyFault } from '../keys/check-key.js';
import { findCurrentLease, runHolding } from '../engine/lease/held-leases.js';
import type { Lease } from '../engine/lease/lease.js';
import type { LockCall, LockRequest } from '../engine/lease/lock-call.js';
import type { LockEngine } from '../engine/lock-engine.js';
import type { LockInspection } from '../engine/lock-inspection.js';
import { throwIfLost } from '../engine/lease/loss.js';
import { OpenLease } from '../engine/lease/open-lease.js';
import { lockName, nameOfKey } from '../options/lock-name.js';
import {
  type AcquireOptions,
  beneathOf,
  CALL_OPTIONS,
  type Presets,
  type ResolvedLockOptions,
  resolveLockOptions,
} from '../options/lock-options.js';
import { checkNames, checkSignal, durationMs } from '../options/values.js';
import { rejectToCaller } from '../runtime/caller-stack.js';
import { type LeaderOptions, type LeaderWork, Leadership, warn } from './leader.js';
import type { Tick } from './schedule.js';
import { claimTick, type OnceAtOptions, runsElsewhere, tickOf } from './tick.js';

const NO_PRESETS = { presets: new Map() };
const NO_OPTIONS: AcquireOptions = Object.freeze({});

/** A term ends with its work, whatever the defaults say. */
const LEADER_OPTIONS = { renew: true, reentrant: false, release: 'end', minHold: 0, onLost: 'signal' } as const;

const LEADER_NAMES: Readonly<Record<keyof LeaderOptions, true>> = {
  ttl: true,
  name: true,
  backoff: true,
  onError: true,
};

/** Options of {@link Locks.steal}, which takes an exclusive lock without waiting. @public */
export type StealOptions = Omit<AcquireOptions, 'kind' | 'wait' | 'fair' | 'permits' | 'weight'>;

/** Options of {@link Locks.attach}. The ticket determines the rest. @public */
export type AttachOptions = Omit<AcquireOptions, 'kind' | 'wait' | 'fair' | 'reentrant' | 'permits' | 'weight'>;

/** Work that runs while the lock is held. @public */
export type LockedWork<T> = (lease: Lease) => T | Promise<T>;

/**
 * The calls of a connection's locks. In Nest they are the methods of `LockService`.
 * @public
 */
export class Locks {
  private found: LockEngine | undefined;

  /**
   * @param find - returns the engine; called when it is first needed, because a named connection may not exist
   * @internal
   */
  constructor(
    private readonly find: () => LockEngine,
    private readonly settings: { readonly presets: Presets } = NO_PRESETS,
    private readonly door = 'Locks',
  ) {}

  /**
   * Resolves with the lease of `key`; release it with `release()` or `await using`. Of several keys, at most 100 and in any order, the
   * caller gets all or none, as one lease. The lease is lost when any of its keys is lost; the other keys stay locked until its release. Keep the lease
   * until its release: a lease that is garbage-collected is lost, because no code can still release it.
   *
   * @throws LockContendedError when another caller holds the lock and `wait` is 0
   * @throws LockWaitTimeoutError when the caller did not get the lock within `wait`
   * @throws LockAbortedError when `signal` aborted
   * @throws LockUnavailableError when Redis failed, refused or did not respond
   * @throws LockShutdownError when the application is stopping
   * @throws LockUsageError when the lock can never work this way
   * @throws LockKeyError, LockConfigurationError when key or options are invalid
   */
  acquire(key: string | readonly string[], options: AcquireOptions = NO_OPTIONS): Promise<Lease> {
    try {
      return this.acquireAs(`${this.door}.acquire`, key, options, rejectToCaller);
    } catch (error) {
      return rejectToCaller(error);
    }
  }

  /**
   * Like {@link acquire}, but never waits, and resolves with `null` when another caller holds the lock.
   *
   * @throws the errors of {@link acquire}, except those for a lock that another caller holds
   */
  async tryAcquire(key: string | readonly string[], options: Omit<AcquireOptions, 'wait'> = {}): Promise<Lease | null> {
    try {
      return await this.acquireAs(`${this.door}.tryAcquire`, key, { ...options, wait: 0 });
    } catch (error) {
      return isLockError(error, 'LOCK_CONTENDED') ? null : rejectToCaller(error);
    }
  }

  /**
   * Runs `work` while the lock is held and releases it on every path. The result or error of `work` takes precedence over a failed
   * release.
   *
   * @throws LeaseLostError with `onLost: 'throw'`, when the lease was lost before `work` ended
   * @throws the errors of {@link acquire}
   */
  withLock<T>(key: string | readonly string[], work: LockedWork<T>): Promise<T>;
  withLock<T>(key: string | readonly string[], options: AcquireOptions, work: LockedWork<T>): Promise<T>;
  async withLock<T>(
    key: string | readonly string[],
    second: AcquireOptions | LockedWork<T>,
    third?: LockedWork<T>,
  ): Promise<T> {
    const options = typeof second === 'function' ? NO_OPTIONS : second;
    const work = typeof second === 'function' ? second : third!;
    let resolved: ResolvedLockOptions;
    let lease: Lease;
    try {
      checkWork(`${this.door}.withLock`, work);
      resolved = this.resolve(options);
      lease = await this.request(`${this.door}.withLock`, requestOf(key, options, resolved, true));
    } catch (error) {
      return rejectToCaller(error);
    }
    let result: T;
    try {
      result = await runHolding(lease, () => work(lease));
    } finally {
      await lease.release();
    }
    throwIfLost(lease, resolved);
    return result;
  }

  /**
   * Runs `work` once for an instant, in whichever process calls it first: the lock of `key` is held while `work` runs, and a marker key
   * remembers the instant for its interval and ten minutes. For jobs of schedulers whose methods `@DistributeLock({ once: 'tick' })` cannot cover.
   * A crash loses the instant.
   *
   * @param instant - the scheduled time, the same in all processes: the result of {@link lastTick}, or a date, which is remembered for a day
   * @returns the result of `work`; `undefined` when another caller ran the instant or holds the lock
   * @throws the errors of {@link withLock}, except those for a lock that another caller holds
   * @example
   * ```ts
   * await locks.onceAt('nightly-report', new Date('2026-03-01T03:00Z'), () => reports.send());
   * ```
   */
  onceAt<T>(key: string, instant: Date | Tick, work: LockedWork<T>): Promise<T | undefined>;
  onceAt<T>(key: string, instant: Date | Tick, options: OnceAtOptions, work: LockedWork<T>): Promise<T | undefined>;
  async onceAt<T>(
    key: string,
    instant: Date | Tick,
    second: OnceAtOptions | LockedWork<T>,
    third?: LockedWork<T>,
  ): Promise<T | undefined> {
    const [given, work] = typeof second === 'function' ? [NO_OPTIONS, second] : [second ?? NO_OPTIONS, third!];
    let working = false;
    try {
      checkWork(`${this.door}.onceAt`, work);
      const tick = tickOf(instant);
      const name = given.name ?? nameOfKey(key);
      const options: AcquireOptions = { ...given, name, minHold: 0, release: 'end', reentrant: false };
      return await this.withLock(key, options, async (lease) => {
        await claimTick(this.engine, lease, name, tick);
        working = true;
        return work(lease);
      });
    } catch (error) {
      if (working) throw error;
      return runsElsewhere(error) ? undefined : rejectToCaller(error);
    }
  }

  /**
   * Runs `work` in one process at a time, again and again: each process stands as a candidate, and one of them leads. `work` gets the term, and ends when
   * `term.signal` aborts. The lock is released only after `work` has settled; work that returns or fails stands again after a pause.
   * Stop the candidacy with `stop()`; `close()`, or the shutdown of the application, stops it too, before the drain.
   *
   * @example
   * ```ts
   * const leader = locks.lead('price-feed', async ({ signal, fencingToken }) => {
   *   for await (const price of feed.read({ signal })) await prices.write(price, fencingToken);
   * });
   * ```
   * @throws LockKeyError, LockConfigurationError when key or options are invalid
   */
  lead(key: string, work: LeaderWork, given: LeaderOptions = {}): Leadership {
    checkKey(key, `${this.door}.lead`, 'code', plainKeyFault);
    checkWork(`${this.door}.lead`, work);
    checkNames(given, LEADER_NAMES);
    const { ttl = '15s', name, backoff = ['1s', '30s'], onError = warn } = given;
    const backoffMs = [durationMs('backoff', backoff[0]), durationMs('backoff', backoff[1])] as const;
    if (backoffMs[0] > backoffMs[1])
      throw new LockConfigurationError('Option "backoff" needs the shorter pause first.');
    const resolved = this.resolve({ ttl, wait: '24h', kind: 'exclusive', ...LEADER_OPTIONS });
    const options = { ...resolved, maxHoldMs: Infinity };
    const call = { ...requestOf(key, name === undefined ? {} : { name }, options, true), leads: true };
    return new Leadership(this.engine, { call, work, backoffMs, onError });
  }

  /**
   * The lease that the running call holds: the innermost lease, or the lease of `key`; `undefined` outside of a lock, where
   * {@link currentLease} throws.
   */
  current(key?: string): Lease | undefined {
    return findCurrentLease(key);
  }

  /**
   * Returns the holders and waiters of `key`. The result may be outdated when you read it, so use it for information only, never to
   * decide whether work may run.
   *
   * @throws LockUnavailableError when Redis failed, refused or did not respond
   * @throws LockUsageError when the connection does not support it (a quorum)
   * @throws LockKeyError when the key is invalid
   */
  inspect(key: string): Promise<LockInspection> {
    return plainCall(`${this.door}.inspect`, key, () => this.engine.inspect(key));
  }

  /**
   * Ends all leases of `key`, for operators. Each holder is notified by a message, or at its next renewal: its `lease.signal`
   * aborts. Work that ignores the signal continues beside the next holder; then only a resource that checks fencing tokens is safe.
   *
   * With `fencingToken`, it ends only the hold that has this fencing token, as {@link inspect} shows it, and never a later one. The
   * process of the holder must answer within 500 ms. Readers share a lease, so this does not exist for read locks.
   *
   * @example
   * ```ts
   * const [holder] = (await locks.inspect('nightly-report')).holders;
   * if (holder?.holds[0]) await locks.forceRelease('nightly-report', holder.holds[0]);
   * ```
   * @returns whether a lease was ended
   * @throws the errors of {@link inspect}; with `fencingToken`, LockUnavailableError when a holder did not answer, and
   * LockUsageError for a read lock
   */
  forceRelease(key: string, only?: { readonly fencingToken: number }): Promise<boolean> {
    return plainCall(`${this.door}.forceRelease`, key, async () => {
      // An absent token must not end all holds.
      if (only !== undefined && !Number.isSafeInteger(only.fencingToken))
        throw new LockConfigurationError(
          `"fencingToken" is ${String(only.fencingToken)}, but it must be a whole number.`,
        );
      return this.engine.forceRelease(key, only?.fencingToken);
    });
  }

  /**
   * Takes `key` from its holders and acquires it in one step, for operators: no waiter gets it in between, and waiters keep their
   * places. Its fencing token is larger than those of the earlier holders. They are notified as by {@link forceRelease}.
   *
   * @example
   * ```ts
   * await using lease = await locks.steal('nightly-report', { name: 'repair' });
   * ```
   * @throws the errors of {@link acquire} and {@link inspect}, except those for a lock that another caller holds
   */
  async steal(key: string, options: StealOptions = {}): Promise<Lease> {
    const lease = await plainCall(`${this.door}.steal`, key, async () => {
      checkSignal(options.signal);
      const resolved = this.resolve({ ...options, kind: 'exclusive', wait: 0 });
      return this.engine.steal(requestOf(key, options, resolved, false));
    });
    return this.engine.keepsForgotten ? lease : open(lease);
  }

  /**
   * Continues a lease that `lease.detach()` has ended in any process: the ticket works once, and the fencing token is larger than
   * before. The lease is renewed again, with the options of this call. When Redis does not respond, the ticket may be used all the
   * same: the same process may repeat the call, and gets the lease.
   *
   * @example
   * ```ts
   * await using lease = await locks.attach(ticket, { ttl: '30s' });
   * await this.orders.confirm(order, lease.fencingToken);
   * ```
   * @throws LeaseLostError with the reason `'used'`, `'expired'`, `'released'`, `'taken'` or `'maxHold'`
   * @throws LockUnavailableError when Redis failed, refused or did not respond
   * @throws LockUsageError when the string is no ticket of this version, prefix and connection, and on a quorum
   * @throws LockAbortedError when `signal` aborted; the ticket stays valid
   * @throws LockShutdownError when the application is stopping; the ticket stays valid
   */
  async attach(ticket: string, options: AttachOptions = {}): Promise<Lease> {
    try {
      checkSignal(options.signal);
      const resolved = this.resolve({ ...options, kind: 'exclusive', wait: 0 });
      const name = options.name === undefined ? undefined : lockName(options.name);
      const lease = await this.engine.attach(ticket, {
        name,
        options: resolved,
        scoped: false,
        signal: options.signal,
      });
      return this.engine.keepsForgotten ? lease : open(lease);
    } catch (error) {
      return rejectToCaller(error);
    }
  }

  /**
   * Releases a detached lease; the next waiter gets the lock.
   *
   * @returns whether the ticket still held the lock
   * @throws LockUnavailableError when Redis failed, refused or did not respond: repeat the call, or the lease ends with its `ttl`
   * @throws LockUsageError when the string is no ticket of this version, prefix and connection, and on a quorum
   */
  async cancel(ticket: string): Promise<boolean> {
    try {
      return await this.engine.cancel(ticket);
    } catch (error) {
      return rejectToCaller(error);
    }
  }

  /** Not `async`, which would add microtasks to every lock. */
  private acquireAs(
    method: string,
    key: string | readonly string[],
    options: AcquireOptions,
    refused?: typeof rejectToCaller,
  ): Promise<Lease> {
    const lease = this.request(method, requestOf(key, options, this.resolve(options), false));
    return lease.then(this.engine.keepsForgotten ? undefined : open, refused);
  }

  private request(method: string, request: LockRequest): Promise<Lease> {
    const { key, signal } = request;
    checkSignal(signal);
    // Reject `String` objects: iterating them yields characters.
    if (typeof key === 'string' || !Array.isArray(key)) checkKey(key, method, 'code', plainKeyFault);
    if (typeof key === 'string') return this.engine.acquire(request);
    return this.engine.acquire({ ...request, key: orderedKeys(key, method, 'code', plainKeyFault) });
  }

  private get engine(): LockEngine {
    return (this.found ??= this.find());
  }

  private resolve(options: AcquireOptions): ResolvedLockOptions {
    if (options === NO_OPTIONS) return this.engine.defaults;
    checkNames(options, CALL_OPTIONS);
    return resolveLockOptions(options, beneathOf(options.preset, this.settings.presets, this.engine.defaults));
  }
}

/** For callers without types. */
function checkWork(method: string, work: unknown): void {
  if (typeof work !== 'function')
    throw new LockConfigurationError(`${method} was called without a function as its work.`);
}

/** A call that concerns no lease. */
async function plainCall<T>(method: string, key: string, call: () => Promise<T>): Promise<T> {
  try {
    checkKey(key, method, 'code', plainKeyFault);
    return await call();
  } catch (error) {
    return rejectToCaller(error);
  }
}

const open = (lease: Lease): Lease => new OpenLease(lease);

const requestOf = <Key extends string | readonly string[]>(
  key: Key,
  { name, signal }: AcquireOptions,
  options: ResolvedLockOptions,
  scoped: boolean,
): Omit<LockCall, 'key'> & { readonly key: Key } => ({
  key,
  name: name === undefined ? nameOfKey(key) : lockName(name),
  options,
  scoped,
  signal,
});
