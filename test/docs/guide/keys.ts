import { Injectable } from '@nestjs/common';
import { DistributeLock, lockKey, LockService } from 'nestjs-distribute-lock';

export interface Invoice {
  readonly id: string;
  readonly customer: { readonly id: number };
}

@Injectable()
export class InvoicesService {
  constructor(private readonly locks: LockService) {}

  // #region templates
  @DistributeLock({ key: 'invoice:#{arg0.id}' })
  async settle(invoice: Invoice) {
    return this.process(invoice);
  }

  @DistributeLock({ key: 'customer:#{arg0.customer.id}:#{arg1}' })
  async bill(invoice: Invoice, month: string) {
    return this.process(invoice, month);
  }
  // #endregion

  // #region function
  @DistributeLock({ key: (invoice: Invoice) => lockKey`invoice:${invoice.id}` })
  async send(invoice: Invoice) {
    return this.process(invoice);
  }
  // #endregion

  // #region service
  async archive(id: string) {
    return this.locks.withLock(lockKey`invoice:${id}`, async () => this.process(id));
  }
  // #endregion

  /** The spec checks the key under which each call runs. */
  private process(..._what: unknown[]): string | undefined {
    return this.locks.current()?.key;
  }
}
