import { Injectable } from '@nestjs/common';
import { DistributeLock, lockKey, LockService } from 'nestjs-distribute-lock';
import { DataSource } from 'typeorm';

// #region service
@Injectable()
export class AccountsService {
  constructor(
    private readonly database: DataSource,
    private readonly locks: LockService,
  ) {}

  @DistributeLock({ key: 'account:#{arg0}', wait: '5s' })
  async deposit(id: string, amount: number): Promise<void> {
    await this.database.transaction(async (transaction) => {
      const [account] = await transaction.query<{ balance: number }[]>('SELECT balance FROM accounts WHERE id = ?', [
        id,
      ]);
      await transaction.query('UPDATE accounts SET balance = ? WHERE id = ?', [account.balance + amount, id]);
    });
  }

  async withdraw(id: string, amount: number): Promise<void> {
    await this.locks.withLock(lockKey`account:${id}`, { wait: '5s' }, () =>
      this.database.transaction(async (transaction) => {
        const [account] = await transaction.query<{ balance: number }[]>('SELECT balance FROM accounts WHERE id = ?', [
          id,
        ]);
        if (account.balance < amount) throw new Error('not enough');
        await transaction.query('UPDATE accounts SET balance = ? WHERE id = ?', [account.balance - amount, id]);
      }),
    );
  }
}
// #endregion
