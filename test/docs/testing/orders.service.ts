import { Injectable } from '@nestjs/common';
import {
  CurrentLease,
  DistributeLock,
  type Lease,
} from 'nestjs-distribute-lock';

import { Carrier } from './carrier.js';

@Injectable()
export class OrdersService {
  constructor(private readonly carrier: Carrier) {}

  @DistributeLock({ key: 'order:#{arg0}', ttl: '30s', wait: '5s' })
  async ship(orderId: string, @CurrentLease() lease?: Lease): Promise<string> {
    const label = await this.carrier.printLabel(orderId);
    lease?.signal.throwIfAborted(); // another instance may ship it now
    return this.carrier.handOver(label);
  }
}
