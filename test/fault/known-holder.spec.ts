import { setTimeout as sleep } from 'node:timers/promises';

import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DistributeLock, LockModule } from 'nestjs-distribute-lock';

import type { LockOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { LockService } from '../../libs/distribute-lock/src/nest/lock.service.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import type { FaultProxy } from '../support/proxy/fault-proxy.js';
import { startRedisServer } from '../support/redis-server.js';
import { expectBelow } from './support/bound.js';
import { PREFIX } from './support/lock-engine.js';
import { outcome } from './support/outcome.js';
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

describe('P24: a caller gets LOCK_CONTENDED or LOCK_WAIT_TIMEOUT only when a holder is known', () => {
  const world = useLockWorld();

  /** Another process holds a key, and the service of this one reaches Redis by a proxy. */
  async function holdElsewhere(options: LockOptions) {
    const [holder, proxy] = await Promise.all([world.process(), world.proxy()]);
    const service = new LockService(() => world.locks(proxy.url).engine);
    const key = world.newKey();
    const held = options.kind === 'read' ? { kind: 'write' as const } : options;
    const { lease } = await holder.do('acquire', { key, ttl: '30s', ...held });
    return { holder, proxy, service, key, lease };
  }

  it.each(Object.entries(KINDS))('when Redis does not respond while callers wait for %s', async (_, options) => {
    const proxy = await world.proxy();
    const locks = world.locks(proxy.url);
    const service = new LockService(() => locks.engine);
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

  it.each(Object.entries(KINDS))('when the connection of callers that wait for %s breaks', async (_, options) => {
    const { holder, proxy, service, key, lease } = await holdElsewhere(options);
    const waiting = Array.from({ length: 3 }, () => service.acquire(key, { ...options, wait: '20s' }));
    const places = options.fair === 'strict' ? waiting.length : 1;
    await eventually(async () => expect((await service.inspect(key)).waiting).toBeGreaterThanOrEqual(places));
    expect(await service.tryAcquire(key, options)).toBeNull();
    proxy.goDown();
    await eventually(async () => {
      await expect(service.tryAcquire(key, options)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    }, 5_000);
    await proxy.resume();
    await holder.do('release', { lease });
    for (const each of waiting) await (await each).release();
  });

  it.each(Object.entries(KINDS))(
    'when Redis stops responding while several callers wait for %s',
    async (_, options) => {
      const { holder, proxy, service, key, lease } = await holdElsewhere(options);
      const short = Array.from({ length: 3 }, () => service.acquire(key, { ...options, wait: '4s' }));
      const ended = Promise.allSettled(short);
      const waiting = Array.from({ length: 3 }, () => service.acquire(key, { ...options, wait: '20s' }));
      const places = options.fair === 'strict' ? short.length + waiting.length : 1;
      await eventually(async () => expect((await service.inspect(key)).waiting).toBeGreaterThanOrEqual(places));
      expect(await service.tryAcquire(key, options)).toBeNull();
      proxy.hold();
      await sleep(3_000);
      for (let i = 0; i < 3; i += 1)
        await expect(service.tryAcquire(key, options)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      for (const each of await ended)
        expect(each).toMatchObject({ status: 'rejected', reason: { code: 'LOCK_UNAVAILABLE' } });
      await proxy.resume();
      await holder.do('release', { lease });
      for (const each of waiting) await (await each).release();
    },
  );

  /** Each of them ends the answers of Redis. */
  const OUTAGES: Record<string, (proxy: FaultProxy) => void> = {
    'does not respond': (proxy) => proxy.hold(),
    'refuses connections': (proxy) => {
      proxy.goDown();
    },
  };

  it.each(
    Object.entries(OUTAGES).flatMap(([outage, begin]) =>
      Object.entries(KINDS).map(([kind, options]) => [outage, kind, begin, options] as const),
    ),
  )('when Redis %s and the wait for %s is short', async (_outage, _kind, begin, options) => {
    const proxy = await world.proxy();
    const locks = world.locks(proxy.url);
    await (await locks.acquire(world.newKey(), { wait: 1_000 })).release();
    begin(proxy);
    for (const wait of [1, 100, 240]) {
      const { code, tookMs } = await outcome(locks, world.newKey(), { ...options, wait });
      expect(code).toBe('LOCK_UNAVAILABLE');
      expectBelow(tookMs, wait + 1_000);
    }
  });

  it.each(Object.entries(KINDS))(
    'when Redis is stopped and the first call of a process waits for %s',
    async (_, options) => {
      const server = await startRedisServer();
      const locks = world.locks(server.url);
      await locks.engine.connect();
      server.pause();
      const { code, tookMs } = await outcome(locks, world.newKey(), { ...options, wait: 100 });
      server.resume();
      expect(code).toBe('LOCK_UNAVAILABLE');
      expectBelow(tookMs, 1_100);
    },
  );

  it('when the lock was held before, and the next reply is missing', async () => {
    const [holder, proxy] = await Promise.all([world.process(), world.proxy()]);
    const locks = world.locks(proxy.url);
    const key = world.newKey();
    const { lease } = await holder.do('acquire', { key, ttl: '30s' });
    const waiting = locks.acquire(key, { wait: '20s' });
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    proxy.hold();
    const codes: string[] = [];
    await eventually(async () => {
      codes.push((await outcome(locks, key, { wait: 50 })).code);
      expect(codes.at(-1)).toBe('LOCK_UNAVAILABLE');
    }, 5_000);
    expect(codes.slice(0, -1)).toEqual(codes.slice(1).map(() => 'LOCK_WAIT_TIMEOUT'));
    await proxy.resume();
    await holder.do('release', { lease });
    await (await waiting).release();
  });

  it('when the lease of other readers must be renewed for a reader with a short wait', async () => {
    const proxy = await world.proxy();
    const locks = world.locks(proxy.url);
    const key = world.newKey();
    await locks.acquire(key, { kind: 'read', ttl: '5s', renew: false });
    proxy.hold();
    for (const wait of [50, 50]) {
      const { code, tookMs } = await outcome(locks, key, { kind: 'read', ttl: '30s', wait });
      expect(code).toBe('LOCK_UNAVAILABLE');
      expectBelow(tookMs, 1_050);
    }
    await proxy.resume();
  });

  it.each(Object.entries(KINDS))(
    'and a caller whose wait is shorter than a round trip gets %s if it is free',
    async (_, options) => {
      const proxy = await world.proxy();
      const locks = world.locks(proxy.url);
      await locks.engine.connect();
      proxy.delay(60);
      const { code, tookMs } = await outcome(locks, world.newKey(), { ...options, wait: 20 });
      expect(code).toBe('granted');
      expectBelow(tookMs, 500);
    },
  );

  it.each(Object.entries(KINDS))('and LOCK_WAIT_TIMEOUT if another process holds %s', async (_, options) => {
    const [holder, proxy] = await Promise.all([world.process(), world.proxy()]);
    const locks = world.locks(proxy.url);
    const key = world.newKey();
    const held = options.kind === 'read' ? { kind: 'write' as const } : options;
    await holder.do('acquire', { key, ttl: '30s', ...held });
    await locks.engine.connect();
    proxy.delay(60);
    const { code, tookMs } = await outcome(locks, key, { ...options, wait: 20 });
    expect(code).toBe('LOCK_WAIT_TIMEOUT');
    expectBelow(tookMs, 500);
    await eventually(async () => expect(await world.waiting(key)).toBe(0), 3_000);
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
