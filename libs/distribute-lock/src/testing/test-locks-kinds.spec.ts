import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';

import { LockService } from '../nest/lock.service.js';
import type { AcquireOptions } from '../options/lock-options.js';
import { LockTestingModule, TestLocks } from './index.js';

describe('TestLocks with other kinds of locks', () => {
  let app: INestApplicationContext;
  let locks: TestLocks;
  let service: LockService;

  beforeEach(async () => {
    const module = await Test.createTestingModule({ imports: [LockTestingModule.forRoot()] }).compile();
    app = await module.init();
    locks = app.get(TestLocks);
    service = app.get(LockService);
  });

  afterEach(() => app.close());

  it.each<[string, AcquireOptions]>([
    ['readers', { kind: 'read' }],
    ['holders of permits', { kind: 'semaphore', permits: 2 }],
  ])('lists several %s, and makes all of them lose the lock', async (_what, options) => {
    const leases = [await service.acquire('plan', options), await service.acquire('plan', options)];
    await locks.advance('2m');
    expect(locks.held.map(({ key }) => key)).toEqual(['plan', 'plan']);
    expect(leases.map((lease) => lease.isHeld())).toEqual([true, true]);
    locks.lose('plan');
    expect(leases.map((lease) => lease.signal.aborted)).toEqual([true, true]);
    expect(locks.held).toEqual([]);
    await (await service.acquire('plan', options)).release();
  });

  it('releases by force only the hold with the given fencing token', async () => {
    const options = { kind: 'semaphore', permits: 2 } as const;
    const [first, second] = [await service.acquire('plan', options), await service.acquire('plan', options)];
    expect(await service.forceRelease('plan', first)).toBe(true);
    await locks.advance('1m');
    expect([first.isHeld(), second.isHeld()]).toEqual([false, true]);
    await second.release();
  });

  it('contends with a kind as another instance', async () => {
    const reader = await locks.contend('plan', { kind: 'read' });
    await (await service.acquire('plan', { kind: 'read' })).release();
    expect(await service.tryAcquire('plan')).toBeNull();
    await reader.release();
    await (await service.acquire('plan')).release();

    const permits: AcquireOptions = { kind: 'semaphore', permits: 2 };
    await locks.contend('pool', permits);
    await (await service.acquire('pool', permits)).release();
    const other = await locks.contend('pool', permits);
    expect(await service.tryAcquire('pool', permits)).toBeNull();
    await other.release();
    await (await service.acquire('pool', permits)).release();
  });
});
