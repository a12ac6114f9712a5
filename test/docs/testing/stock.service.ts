import { Injectable } from '@nestjs/common';
import { lockKey, LockService } from 'nestjs-distribute-lock';

/** The service of the second example in docs/guide/testing.md. */
@Injectable()
export class StockService {
  private amount = 10;

  constructor(private readonly locks: LockService) {}

  take(sku: string): Promise<number> {
    return this.locks.withLock(
      lockKey`stock:${sku}`,
      { wait: '1s' },
      async () => (this.amount -= 1),
    );
  }
}
