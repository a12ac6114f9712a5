import { Injectable } from '@nestjs/common';

import { isLockError } from '../errors.js';
import { checkKey, orderedKeys } from '../keys/check-key.js';
import { currentLease, runHolding } from '../lease/held-leases.js';
import type { Lease } from '../lease/lease.js';
import type { LockCall } from '../lease/lock-call.js';
import type { LockInspection } from '../lease/lock-inspection.js';
import { throwIfLost } from '../lease/on-lost.js';
import { DEFAULT_NAME, lockName } from '../options/lock-name.js';
import {
  type AcquireOptions,
  CALL_OPTIONS,
  type ResolvedLockOptions,
  resolveLockOptions,
} from '../options/lock-options.js';
import { checkNames, checkSignal } from '../options/values.js';
import { knownAs } from '../runtime/process-wide.js';
import { acquireOf, type LockClient } from './lock-client.js';

const NO_OPTIONS: AcquireOptions = Object.freeze({});

/** Work that runs while the lock is held. @public */
export type LockedWork<T> = (lease: Lease) => T | Promise<T>;

/**
 * Locks by hand, for code that a decorator cannot reach.
 *
 * @example
 * ```ts
 * await this.locks.withLock(`stock:${sku}`, { wait: '2s' }, async (lease) => {
 *   await this.stock.reserve(sku, lease.fencingToken);
 * });
 * ```
 * @public
 */
@Injectable()
export class LockService {
  /** @internal */
  constructor(private readonly client: LockClient) {}

  /**
   * Resolves with the lease of `key`; give it back with `release()` or `await using`. Of several keys it has all or none, in
   * whatever order they are given, and one lease for them: when one is lost, all are.
   *
   * @throws LockContendedError when somebody else holds the lock and `wait` is 0
   * @throws LockWaitTimeoutError when it did not become free within `wait`
   * @throws LockAbortedError when `signal` aborted
   * @throws LockUnavailableError when Redis failed, refused or did not answer
   * @throws LockShutdownError when the application is stopping
   * @throws LockKeyError, LockConfigurationError when key or options are not usable
   */
  acquire(key: string | readonly string[], options: AcquireOptions = NO_OPTIONS): Promise<Lease> {
    return this.take('LockService.acquire', key, options);
  }

  /**
   * Like {@link acquire}, but never waits, and answers `null` when somebody else holds the lock.
   *
   * @throws the errors of {@link acquire}, except those for a lock that is held by others
   */
  async tryAcquire(key: string | readonly string[], options: Omit<AcquireOptions, 'wait'> = {}): Promise<Lease | null> {
    try {
      return await this.take('LockService.tryAcquire', key, { ...options, wait: 0 });
    } catch (error) {
      if (isLockError(error, 'LOCK_CONTENDED')) return null;
      throw error;
    }
  }

  /**
   * Runs `work` while the lock is held and gives it back afterwards, on every path. The result or error of `work` always
   * wins over a release that fails.
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
    const resolved = this.resolve(options);
    const lease = await this.ask('LockService.withLock', key, callOf(options, resolved, true));
    let result: T;
    try {
      result = await runHolding(lease, () => work(lease));
    } finally {
      await lease.release();
    }
    throwIfLost(lease, resolved);
    return result;
  }

  /** The lease that the running call holds: the innermost, or that of `key`. */
  current(key?: string): Lease | undefined {
    return currentLease(key);
  }

  /**
   * Looks who has the lock of `key`, and who waits. It is advisory: by the time it is read it may have changed, so never
   * decide by it who may work.
   *
   * @throws LockUnavailableError when Redis failed, refused or did not answer
   * @throws LockUsageError where the connection does not offer it (a quorum)
   * @throws LockKeyError when the key is not usable
   */
  async inspect(key: string): Promise<LockInspection> {
    checkKey(key, 'LockService.inspect');
    return this.client.inspect(key);
  }

  /**
   * Takes the lock of `key` away from all who have it, for operators. They are told at once (`lease.signal` aborts), but work
   * that does not listen goes on beside the next holder: only a resource that checks fencing tokens is safe then.
   *
   * @returns whether anybody lost it
   * @throws the errors of {@link inspect}
   */
  async forceRelease(key: string): Promise<boolean> {
    checkKey(key, 'LockService.forceRelease');
    return this.client.forceRelease(key);
  }

  /** Not async: that would be three more turns of the microtask queue for every lock. */
  private take(method: string, key: string | readonly string[], options: AcquireOptions): Promise<Lease> {
    try {
      return this.ask(method, key, callOf(options, this.resolve(options), false));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  private ask(method: string, key: string | readonly string[], call: Omit<LockCall, 'key'>): Promise<Lease> {
    checkSignal(call.signal);
    // A text that is an object can be gone through, too: letter by letter.
    if (typeof key === 'string' || !Array.isArray(key)) checkKey(key, method);
    return acquireOf(this.client, typeof key === 'string' ? key : orderedKeys(key, method), call);
  }

  private resolve(options: AcquireOptions): ResolvedLockOptions {
    if (options === NO_OPTIONS) return this.client.defaults;
    checkNames(options, CALL_OPTIONS);
    return resolveLockOptions(options, this.client.defaults);
  }
}

const callOf = (
  { name, signal }: AcquireOptions,
  options: ResolvedLockOptions,
  scoped: boolean,
): Omit<LockCall, 'key'> => ({
  name: name === undefined ? DEFAULT_NAME : lockName(name),
  options,
  scoped,
  signal,
});

knownAs('LockService', LockService);
