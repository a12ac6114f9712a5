import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { DistributeLock } from 'nestjs-distribute-lock';

import { Reports } from './reports.js';

@Injectable()
export class ReportsService {
  constructor(private readonly reports: Reports) {}

  @Cron('0 3 * * *', { name: 'nightly', timeZone: 'Europe/Berlin' })
  @DistributeLock({ key: 'nightly-report', once: 'tick', onContended: 'skip' })
  async nightly(): Promise<void> {
    await this.reports.send();
  }
}
