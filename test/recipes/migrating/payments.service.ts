import { Injectable } from '@nestjs/common';
import { DistributeLock } from 'nestjs-distribute-lock';

import { Gateway } from './gateway.js';

@Injectable()
export class PaymentsService {
  constructor(private readonly gateway: Gateway) {}

  // #region pay
  @DistributeLock({ key: 'payment:#{arg0}', ttl: '30s', wait: '10s' })
  async pay(orderId: string): Promise<string> {
    return this.gateway.charge(orderId);
  }
  // #endregion
}
