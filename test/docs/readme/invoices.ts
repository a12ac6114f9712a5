import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { DistributeLock, lockKey } from 'nestjs-distribute-lock';

import { Database } from './database.js';

interface Invoice {
  readonly id: string;
}

@Injectable()
export class Invoices {
  constructor(private readonly database: Database) {}

  // #region methods
  @DistributeLock({ key: 'invoice:#{arg0.id}', ttl: '30s', wait: '5s' }) // waits its turn, woken by a message
  async settle(invoice: Invoice) {
    return this.database.charge(invoice.id, undefined);
  }

  @Cron('0 3 * * *')
  @DistributeLock({ key: 'nightly', onContended: 'skip', once: 'tick' }) // once per cluster
  async nightly() {
    await this.database.write('report', undefined);
  }

  @DistributeLock({ key: (invoice: Invoice) => lockKey`invoice:${invoice.id}` }) // a custom key, typed by the method
  async send(invoice: Invoice) {
    await this.database.write(invoice.id, undefined);
  }
  // #endregion
}
