import { Test } from '@nestjs/testing';
import { LockEvents } from 'nestjs-distribute-lock';
import { LockTestingModule, TestLocks } from 'nestjs-distribute-lock/testing';

import { StockService } from './stock.service.js';

describe('StockService', () => {
  it('waits for its turn', async () => {
    // #region module
    const module = await Test.createTestingModule({
      imports: [LockTestingModule.forRoot()],
      providers: [StockService],
    }).compile();
    const locks = module.get(TestLocks);
    // #endregion
    // #region events
    const seen: string[] = [];
    module
      .get(LockEvents)
      .listen(({ type, name }) => seen.push(`${type} ${name}`));
    // #endregion

    const elsewhere = await locks.contend('stock:book');
    const refused = expect(
      module.get(StockService).take('book'),
    ).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
    await locks.advance('1s');
    await refused;

    await elsewhere.release();
    expect(await module.get(StockService).take('book')).toBe(9);
    const name = 'stock';
    expect(seen).toEqual([
      `contended ${name}`,
      `acquired ${name}`,
      `released ${name}`,
    ]);
    await module.close();
  });
});
