import { Injectable } from '@nestjs/common';
import { lockKey, LockService } from 'nestjs-distribute-lock';

import { Gateway } from './gateway.js';

@Injectable()
export class SeatsService {
  constructor(
    private readonly locks: LockService,
    private readonly gateway: Gateway,
  ) {}

  // #region sell
  async sell(seat: string): Promise<string> {
    // redlock: acquire([`lock:seat:${seat}`], 5_000), with retryCount 10 and retryDelay 200
    const lease = await this.locks.acquire(lockKey`seat:${seat}`, { ttl: '5s', wait: '2s', name: 'Seats.sell' });
    try {
      lease.signal.throwIfAborted();
      return await this.gateway.charge(seat);
    } finally {
      await lease.release();
    }
  }
  // #endregion
}
