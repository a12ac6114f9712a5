import { Injectable } from '@nestjs/common';

import { isLockError } from '../errors/is-lock-error.js';
import { currentLease, runHolding } from '../lease/held-leases.js';
import type { Lease } from '../lease/lease.js';
import type { AcquireOptions } from '../options/lock-options.js';
import { resolveLockOptions } from '../options/resolve-lock-options.js';
import type { LockClient } from './lock-client.js';

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
}
