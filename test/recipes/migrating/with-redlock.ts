import type { Redis } from 'ioredis';
import Redlock from 'redlock';

import type { Gateway } from './gateway.js';

export class PaymentsService {
  private readonly redlock: Redlock;

  constructor(
    redis: Redis,
    private readonly gateway: Gateway,
  ) {
    this.redlock = new Redlock([redis], { retryCount: 100, retryDelay: 100 });
  }

  // #region pay
  async pay(orderId: string): Promise<string> {
    return this.redlock.using([`lock:payment:${orderId}`], 30_000, async () => this.gateway.charge(orderId));
  }
  // #endregion
}
