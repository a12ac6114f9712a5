import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import fc from 'fast-check';
import { DistributeLock, lockKey, LockModule, LockService } from 'nestjs-distribute-lock';

import { runsOf } from '../support/runs.js';

@Injectable()
class Accounts {
  constructor(private readonly locks: LockService) {}

  /** Whether another caller could acquire the lock of the same id at this moment. */
  @DistributeLock({ key: 'acc:#{arg0}:#{arg1}' })
  async isOpen(id: string, part: string): Promise<boolean> {
    const lease = await outsideOf(() => this.locks.tryAcquire(lockKey`acc:${id}:${part}`));
    await lease?.release();
    return lease !== null;
  }
}

/** Runs the work in a separate asynchronous context, so that it is not a nested call. */
let outsideOf: <T>(work: () => Promise<T>) => Promise<T>;

describe('A decorated method and LockService', () => {
  it('exclude each other for random ids', async () => {
    const { AsyncResource } = await import('node:async_hooks');
    const resource = new AsyncResource('another caller');
    outsideOf = (work) => resource.runInAsyncScope(work);
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ connection: 'memory' })],
      providers: [Accounts],
    }).compile();
    await module.init();
    const accounts = module.get(Accounts);
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(text, text, async (id, part) => {
        if (id.isWellFormed() && part.isWellFormed()) expect(await accounts.isOpen(id, part)).toBe(false);
      }),
      runsOf('a decorated method and LockService', 100_000),
    );
    await module.close();
  }, 120_000);
});
