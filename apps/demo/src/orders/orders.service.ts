import { Injectable, UnprocessableEntityException } from '@nestjs/common';
import { DistributeLock, LockService } from 'nestjs-distribute-lock';

import type { WorkDone } from '../work/work-done.js';
import { WorkService } from '../work/work.service.js';
import type { SettleOrderDto } from './settle-order.dto.js';

@Injectable()
export class OrdersService {
  constructor(
    private readonly locks: LockService,
    private readonly work: WorkService,
  ) {}

  /** Locked for all callers: a controller, a queue worker, a cron job. */
  @DistributeLock({ key: 'order:#{arg0}', ttl: '10s' })
  async settle(id: number, { workMs, declined }: SettleOrderDto): Promise<WorkDone & { orderId: number }> {
    const lease = this.locks.current();
    if (lease === undefined) throw new Error('A locked method runs under its lease.');
    const done = await this.work.run(lease, workMs);
    if (declined) throw new UnprocessableEntityException(`The payment of order ${id} was declined.`);
    return { ...done, orderId: id };
  }
}
