import { ConflictException, Injectable } from '@nestjs/common';
import { currentLease, DistributeLock } from 'nestjs-distribute-lock';
import { DataSource } from 'typeorm';

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

  /** `fence` is a 64-bit integer, initially 0: the largest fencing token that has written the row. */
  private async write(sku: string, amount: number, fencingToken: number): Promise<void> {
    const written = await this.database.query<unknown[]>(
      'UPDATE stock SET amount = ?, fence = ? WHERE sku = ? AND fence <= ? RETURNING sku',
      [amount, fencingToken, sku, fencingToken],
    );
    if (written.length === 0) throw new ConflictException('a later holder of the lock has written already');
  }
}
