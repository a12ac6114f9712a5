import { Injectable } from '@nestjs/common';
import { lockKey, LockService } from 'nestjs-distribute-lock';

import { Database } from './database.js';

// #region service
@Injectable()
export class StockService {
  constructor(
    private readonly locks: LockService,
    private readonly database: Database,
  ) {}

  async reserve(sku: string) {
    await this.locks.withLock(lockKey`stock:${sku}`, { ttl: '30s', wait: '2s' }, async (lease) => {
      await this.database.write(sku, lease.fencingToken); // lease.signal aborts when the lease is lost
    });
  }

  async count(signal: AbortSignal) {
    await using lease = await this.locks.acquire('count', { wait: '1m', signal });
    await this.database.write('count', lease.fencingToken);
  }

  async tryCount() {
    const lease = await this.locks.tryAcquire('count'); // null when the lock is held elsewhere, never waits
    if (lease === null) return 'busy';
    await lease.release();
    return 'free';
  }
}
// #endregion
