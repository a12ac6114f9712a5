import { Inject, Injectable, Optional } from '@nestjs/common';

import type { LockEngine } from '../engine/lock-engine.js';
import { Locks } from '../locks/locks.js';
import type { Presets } from '../options/lock-options.js';
import { knownAs } from '../runtime/process-wide.js';
import { LOCK_ENGINE, LOCK_SETTINGS } from './tokens.js';

/**
 * Acquires locks in code that a decorator cannot cover.
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
export class LockService extends Locks {
  /** @internal */
  constructor(
    @Inject(LOCK_ENGINE) find: () => LockEngine,
    @Optional() @Inject(LOCK_SETTINGS) settings?: { readonly presets: Presets },
  ) {
    super(find, settings, 'LockService');
  }
}

knownAs('LockService', LockService);
