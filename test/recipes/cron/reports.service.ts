import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { DistributeLock } from 'nestjs-distribute-lock';

import { Reports } from './reports.js';

@Injectable()
export class ReportsService {
  constructor(private readonly reports: Reports) {}

  @Cron('0 3 * * *', { name: 'nightly' })
  @DistributeLock({ key: 'nightly-report', onContended: 'skip', minHold: '1m' })
  async nightly(): Promise<void> {
    await this.reports.send();
  }
}
