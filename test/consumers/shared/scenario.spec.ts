import { Test } from '@nestjs/testing';
import { isLockError } from 'nestjs-distribute-lock';
import { LOCK_RUNTIME, TestLocks } from 'nestjs-distribute-lock/testing';
import { AppModule, Gate, Invoices } from './application.js';
import { scenario } from './scenario.js';

it('locks over a real Redis', async () => {
  expect(await scenario()).toMatchObject({
    first: [201, { id: '42', held: true }],
    second: [409, 'LOCK_CONTENDED', true],
    message: 'LOCK_CONTENDED',
    redis: [1, 0],
  });
});

it('is tested without Redis', async () => {
  const locks = new TestLocks();
  const module = await Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(LOCK_RUNTIME)
    .useValue(locks)
    .compile();
  await module.init();
  const invoices = module.get(Invoices);
  module.get(Gate).letGo();

  const other = await locks.contend('invoice:42');
  const error: unknown = await invoices.settle('42').catch((reason: unknown) => reason);
  expect(isLockError(error, 'LOCK_CONTENDED')).toBe(true);
  await other.release();
  expect(await invoices.settle('42')).toEqual({ id: '42', held: true });
  await module.close();
});
