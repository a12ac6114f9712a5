import { Injectable } from '@nestjs/common';
import { currentLease, DistributeLock } from 'nestjs-distribute-lock';
import { DataSource } from 'typeorm';

import { passFence } from './fences.js';
import { Warehouse } from './warehouse.js';

@Injectable()
export class PricesService {
  constructor(
    private readonly database: DataSource,
    private readonly warehouse: Warehouse,
  ) {}

  // #region use
  @DistributeLock({ key: 'prices:#{arg0}' })
  async recalculate(shop: string): Promise<void> {
    const amount = await this.warehouse.count(shop);
    const { key, fencingToken } = currentLease();
    await this.database.transaction(async (transaction) => {
      await passFence(transaction, key, fencingToken);
      await transaction.sql`UPDATE prices SET amount = ${amount} WHERE shop = ${shop}`;
    });
  }
  // #endregion
}
