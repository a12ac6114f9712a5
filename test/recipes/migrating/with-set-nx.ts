import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import type { Redis } from 'ioredis';

import type { Gateway } from './gateway.js';

export class PaymentsService {
  constructor(
    private readonly redis: Redis,
    private readonly gateway: Gateway,
  ) {}

  // #region pay
  async pay(orderId: string): Promise<string> {
    const key = `lock:payment:${orderId}`;
    const token = randomUUID();
    while ((await this.redis.set(key, token, 'PX', 30_000, 'NX')) !== 'OK') await delay(50);
    try {
      return await this.gateway.charge(orderId);
    } finally {
      // Only if we still hold it: a plain DEL would delete the lock of the next holder after 30 seconds.
      await this.redis.eval(
        "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1])",
        1,
        key,
        token,
      );
    }
  }
  // #endregion
}
