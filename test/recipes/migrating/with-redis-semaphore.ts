import type { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';

import type { Gateway } from './gateway.js';

export class PaymentsService {
  constructor(
    private readonly redis: Redis,
    private readonly gateway: Gateway,
  ) {}

  // #region pay
  async pay(orderId: string): Promise<string> {
    const mutex = new Mutex(this.redis, `payment:${orderId}`, { lockTimeout: 30_000, acquireTimeout: 10_000 });
    await mutex.acquire();
    try {
      return await this.gateway.charge(orderId);
    } finally {
      await mutex.release();
    }
  }
  // #endregion
}
