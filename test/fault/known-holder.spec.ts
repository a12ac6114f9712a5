import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DistributeLock, LockModule } from 'nestjs-distribute-lock';

import type { LockOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { LockService } from '../../libs/distribute-lock/src/nest/lock.service.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { PREFIX } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

const KINDS: Record<string, LockOptions> = {
  'an exclusive lock': {},
  'an exclusive lock with strict fairness': { fair: 'strict' },
  'a read lock': { kind: 'read' },
  'a semaphore': { kind: 'semaphore', permits: 1 },
};

@Injectable()
class Jobs {
  ran = 0;

  @DistributeLock({ key: 'job', wait: '20s' })
  async waits(): Promise<void> {}

  @DistributeLock({ key: 'job', onContended: 'skip' })
  async skips(): Promise<void> {
    this.ran += 1;
  }
}

describe('P24: a caller with wait 0 gets LOCK_CONTENDED only when a holder is known', () => {
  const world = useLockWorld();

  it.each(Object.entries(KINDS))('when Redis does not respond while callers wait for %s', async (_, options) => {
    const proxy = await world.proxy();
    const locks = world.locks(proxy.url);
    const service = new LockService(locks.engine);
    const key = world.newKey();
    await (await locks.acquire(world.newKey())).release();
    proxy.hold();
    const waiting = Array.from({ length: 3 }, () => service.acquire(key, { ...options, wait: '20s' }));
    const refused = await Promise.allSettled(Array.from({ length: 5 }, () => service.tryAcquire(key, options)));
    for (const each of refused)
      expect(each).toMatchObject({ status: 'rejected', reason: { code: 'LOCK_UNAVAILABLE' } });
    await proxy.resume();
    for (const lease of waiting) await (await lease).release();
  });

  it.each(Object.entries(KINDS))('when the connection of a caller that waits for %s breaks', async (_, options) => {
    const [holder, proxy] = await Promise.all([world.process(), world.proxy()]);
    const service = new LockService(world.locks(proxy.url).engine);
    const key = world.newKey();
    const held = options.kind === 'read' ? { kind: 'write' as const } : options;
    const { lease } = await holder.do('acquire', { key, ttl: '30s', ...held });
    const waiting = service.acquire(key, { ...options, wait: '20s' });
    await eventually(async () => expect(await service.tryAcquire(key, options)).toBeNull());
    proxy.refuse();
    proxy.cut();
    await eventually(async () => {
      await expect(service.tryAcquire(key, options)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    }, 5_000);
    await proxy.resume();
    await holder.do('release', { lease });
    await (await waiting).release();
  });

  it("rejects a method with onContended: 'skip' instead of skipping it", async () => {
    const proxy = await world.proxy();
    const imports = [LockModule.forRoot({ connection: proxy.url, prefix: PREFIX, drainTimeout: 0 })];
    const app = await Test.createTestingModule({ imports, providers: [Jobs] }).compile();
    await app.init();
    onCleanup(() => app.close());
    const jobs = app.get(Jobs);
    await jobs.skips();
    proxy.hold();
    const waiting = jobs.waits();
    await expect(jobs.skips()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(jobs.ran).toBe(1);
    await proxy.resume();
    await waiting;
  });
});
