import { Injectable } from '@nestjs/common';
import { OnEvent } from '@nestjs/event-emitter';
import { currentLease, DistributeLock, lockKey, LockService, outsideLocks } from 'nestjs-distribute-lock';

@Injectable()
export class CatalogService {
  // #region read-write
  @DistributeLock({ key: 'catalog', kind: 'read', wait: '5s' })
  async list() {
    return ['shirt'];
  }

  @DistributeLock({ key: 'catalog', kind: 'write', wait: '5s' })
  async rebuild() {
    await this.write();
    await currentLease().downgrade(); // readers may enter; no writer can enter in between
    return this.verify();
  }
  // #endregion

  private async write(): Promise<void> {}

  private verify(): string {
    return 'verified';
  }
}

@Injectable()
export class ExportsService {
  // #region semaphore
  @DistributeLock({ key: 'exports', kind: 'semaphore', permits: 5, wait: '1m' })
  async export(id: string) {
    return `exported ${id}`;
  }

  @DistributeLock({ key: 'exports', kind: 'semaphore', permits: 5, weight: 2, wait: '1m' })
  async exportAll() {
    return 'exported all';
  }
  // #endregion
}

@Injectable()
export class AccountsService {
  constructor(private readonly locks: LockService) {}

  // #region several
  @DistributeLock({ keys: ['account:#{arg0}', 'account:#{arg1}'], wait: '5s' })
  async transfer(from: string, to: string, amount: number) {
    return `${amount} from ${from} to ${to}`;
  }

  async close(ids: readonly string[]) {
    const keys = ids.map((id) => lockKey`account:${id}`);
    return this.locks.withLock(keys, { wait: '5s' }, async (lease) => [...lease.fencingTokens.keys()]);
  }
  // #endregion

  // #region reentrant
  @DistributeLock({ key: 'account:#{arg0}', reentrant: true })
  async withdraw(id: string) {
    return this.book(id); // runs inside the lock that this call holds
  }

  @DistributeLock({ key: 'account:#{arg0}', reentrant: true })
  async book(id: string) {
    return `booked ${id}`;
  }
  // #endregion
}

@Injectable()
export class StockListener {
  constructor(private readonly locks: LockService) {}

  // #region outside-locks
  @OnEvent('stock.changed')
  onStockChanged({ sku }: { sku: string }) {
    return outsideLocks(() => this.locks.withLock(`stock:${sku}`, { wait: '3s' }, () => this.rebuild(sku)));
  }
  // #endregion

  private rebuild(sku: string): string {
    return `rebuilt ${sku}`;
  }
}
