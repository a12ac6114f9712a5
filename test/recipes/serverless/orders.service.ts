import { setTimeout as delay } from 'node:timers/promises';

import { Injectable } from '@nestjs/common';
import { DistributeLock } from 'nestjs-distribute-lock';

@Injectable()
export class OrdersService {
  private settled = 0;

  @DistributeLock({ key: 'order:#{arg0}', wait: '5s' }) // shorter than the time limit of the function
  async settle(orderId: string): Promise<string> {
    await delay(100); // the work; nothing continues after the answer
    this.settled += 1;
    return `${orderId} settled, ${this.settled} by this instance`;
  }
}
