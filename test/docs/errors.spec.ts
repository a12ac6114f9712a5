import { Test } from '@nestjs/testing';
import { LockService } from 'nestjs-distribute-lock';
import { LockTestingModule, TestLocks } from 'nestjs-distribute-lock/testing';

import { nightly } from './errors.js';

describe('The example of docs/reference/errors.md', () => {
  it('distinguishes lock errors from those of the work', async () => {
    const module = await Test.createTestingModule({ imports: [LockTestingModule.forRoot()] }).compile();
    const run = (work: () => Promise<string>) => nightly(module.get(LockService), work);
    expect(await run(async () => 'done')).toBe('done');
    await expect(run(() => Promise.reject(new Error('own')))).rejects.toThrow('own');
    await module.get(TestLocks).contend('nightly', { ttl: '10s', renew: false });
    expect(await run(async () => 'done')).toMatch(/^busy, try again in \d+ ms$/);
    await module.close();
  });
});
