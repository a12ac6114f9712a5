import { ConflictException, Injectable } from '@nestjs/common';
import { currentLease, DistributeLock } from 'nestjs-distribute-lock';
import { DataSource, LessThanOrEqual } from 'typeorm';

import { Stock } from './stock.entity.js';
import { Warehouse } from './warehouse.js';

@Injectable()
export class StockService {
  constructor(
    private readonly database: DataSource,
    private readonly warehouse: Warehouse,
  ) {}

  @DistributeLock({ key: 'stock:#{arg0}', ttl: '30s' })
  async recount(sku: string): Promise<void> {
    const amount = await this.warehouse.count(sku); // may take longer than the lease
    await this.write(sku, amount, currentLease().fencingToken);
  }

  private async write(sku: string, amount: number, fencingToken: number): Promise<void> {
    // #region write
    const { affected } = await this.database
      .getRepository(Stock)
      .update({ sku, fence: LessThanOrEqual(fencingToken) }, { amount, fence: fencingToken });
    if (affected !== 1) throw new ConflictException('a later holder of the lock has written already');
    // #endregion
  }
}
