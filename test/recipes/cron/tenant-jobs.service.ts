import { Injectable, Logger } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { CronJob } from 'cron'; // a dependency of @nestjs/schedule
import { lastTick, LockService } from 'nestjs-distribute-lock';

import { Reports } from './reports.js';

@Injectable()
export class TenantJobsService {
  private readonly logger = new Logger(TenantJobsService.name);

  constructor(
    private readonly jobs: SchedulerRegistry,
    private readonly locks: LockService,
    private readonly reports: Reports,
  ) {}

  /** Called with the tenants of a database or a configuration, on every instance. */
  schedule(tenant: string, cronTime: string): void {
    const job: CronJob = CronJob.from({
      cronTime,
      timeZone: 'Europe/Berlin',
      // returns the promise, so that a failure reaches errorHandler
      onTick: () => this.locks.onceAt(`report:${tenant}`, lastTick(job)!, () => this.reports.send()),
      errorHandler: (error) => this.logger.error(`The report of ${tenant} failed.`, error),
    });
    this.jobs.addCronJob(`report-${tenant}`, job);
    job.start();
  }
}
