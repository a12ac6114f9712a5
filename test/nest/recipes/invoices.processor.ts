import { Processor, WorkerHost } from '@nestjs/bullmq';
import type { OnModuleDestroy } from '@nestjs/common';
import { DelayedError, type Job } from 'bullmq';
import { CurrentLease, DistributeLock, type Lease, type LockContentionInfo } from 'nestjs-distribute-lock';

import { Invoices } from './invoices.js';

interface Invoice {
  readonly customer: string;
  readonly amount: number;
}

/** Delays the job until the lock may be free. BullMQ does not count this as a failed attempt. */
async function delayJob({ retryAfterMs }: LockContentionInfo, job: Job, token?: string): Promise<never> {
  await job.moveToDelayed(Date.now() + Math.min(retryAfterMs, 1000), token);
  throw new DelayedError();
}

@Processor('invoices', { concurrency: 10 })
export class InvoicesProcessor extends WorkerHost implements OnModuleDestroy {
  constructor(private readonly invoices: Invoices) {
    super();
  }

  @DistributeLock({ key: 'customer:#{arg0.data.customer}', onContended: delayJob })
  async process(job: Job<Invoice>, _token?: string, @CurrentLease() lease?: Lease): Promise<string> {
    return this.invoices.settle(job.data.amount, lease);
  }

  /** Takes no more jobs before a shutdown refuses locks, so that no job fails. */
  async onModuleDestroy(): Promise<void> {
    await this.worker.close();
  }
}
