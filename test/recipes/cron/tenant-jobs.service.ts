import { Injectable, Logger } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { CronJob } from 'cron'; // a dependency of @nestjs/schedule
import { DistributeLock } from 'nestjs-distribute-lock';

import { Reports } from './reports.js';

@Injectable()
export class TenantJobsService {
  private readonly logger = new Logger(TenantJobsService.name);

  constructor(
    private readonly jobs: SchedulerRegistry,
    private readonly reports: Reports,
  ) {}

  /** Called with the tenants of a database or a configuration, on every instance. */
  schedule(tenant: string, cronTime: string): void {
    const job = CronJob.from({
      cronTime,
      onTick: () => this.report(tenant), // returns the promise, so that a failure reaches errorHandler
      errorHandler: (error) => this.logger.error(`The report of ${tenant} failed.`, error),
    });
    this.jobs.addCronJob(`report-${tenant}`, job);
    job.start();
  }

  @DistributeLock({ key: 'report:#{arg0}', onContended: 'skip', minHold: '1m' })
  async report(_tenant: string): Promise<void> {
    await this.reports.send();
  }
}
