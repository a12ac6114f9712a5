import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { LOCK_RUNTIME, TestLocks } from 'nestjs-distribute-lock/testing';

import { AppModule } from './app.module.js';
import { Carrier } from './carrier.js';
import { OrdersService } from './orders.service.js';

describe('OrdersService', () => {
  let locks: TestLocks;
  let app: INestApplicationContext;
  let orders: OrdersService;

  beforeEach(async () => {
    locks = new TestLocks();
    const module = await Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(LOCK_RUNTIME)
      .useValue(locks)
      .compile();
    app = await module.init();
    orders = app.get(OrdersService);
  });

  afterEach(async () => {
    expect(locks.held).toEqual([]);
    await app.close();
  });

  it('ships an order, and releases the lock', async () => {
    expect(await orders.ship('42')).toBe('label of 42: handed over');
    expect(locks.held).toEqual([]);
  });

  it('gives up after 5 s when another instance holds the lock', async () => {
    await locks.contend('order:42');
    const refused = expect(orders.ship('42')).rejects.toMatchObject({
      code: 'LOCK_WAIT_TIMEOUT',
    });
    await locks.advance('5s'); // takes no time
    await refused;
  });

  it('ships when the other instance releases the lock', async () => {
    const elsewhere = await locks.contend('order:42');
    const shipped = orders.ship('42');
    await locks.advance('2s');
    await elsewhere.release();
    expect(await shipped).toBe('label of 42: handed over');
  });

  it('does not hand over a parcel after it has lost the lock', async () => {
    let print: (label: string) => void = () => {};
    app.get(Carrier).printLabel = () =>
      new Promise((resolve) => (print = resolve));

    const refused = expect(orders.ship('42')).rejects.toMatchObject({
      code: 'LEASE_LOST',
    });
    await locks.advance('10m'); // renewed throughout
    expect(locks.held).toEqual([
      { key: 'order:42', name: 'OrdersService.ship' },
    ]);

    locks.lose('order:42');
    print('label of 42');
    await refused;
  });
});
