import { Test } from '@nestjs/testing';
import { LOCK_RUNTIME, TestLocks } from 'nestjs-distribute-lock/testing';

import { AppModule } from './app.module.js';
import { OrdersService } from './orders.service.js';

it('keeps an order that another instance ships', async () => {
  // #region kit
  const locks = new TestLocks();
  const module = await Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(LOCK_RUNTIME)
    .useValue(locks)
    .compile();
  const orders = module.get(OrdersService);

  const elsewhere = await locks.contend('order:42'); // another instance holds it
  const shipped = orders.ship('42');
  await locks.advance('3s'); // takes no time
  await elsewhere.release();
  expect(await shipped).toBe('label of 42: handed over');
  expect(locks.held).toEqual([]);
  // #endregion
});
