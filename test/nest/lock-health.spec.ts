import type { INestApplicationContext } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import { LockModule, LockService } from 'nestjs-distribute-lock';
import { LockHealthIndicator } from 'nestjs-distribute-lock/terminus';

import { expectBelow } from '../fault/support/bound.js';
import { eventually } from '../support/eventually.js';
import { monotonicMs } from '../support/monotonic.js';
import { startRedisServer, type RedisServer } from '../support/redis-server.js';

describe('LockHealthIndicator', () => {
  let redis: RedisServer;
  let app: INestApplicationContext;
  let indicator: LockHealthIndicator;
  let locks: LockService;

  beforeAll(async () => {
    redis = await startRedisServer();
    const connections = { reports: redis.url };
    const module = await Test.createTestingModule({
      imports: [
        LockModule.forRoot({ connection: redis.url, connections, maxWaiters: { perKey: 2, total: 4 } }),
        TerminusModule.forRoot({ logger: false }),
      ],
      providers: [LockHealthIndicator],
    }).compile();
    app = await module.init();
    indicator = app.get(LockHealthIndicator);
    locks = app.get(LockService);
  });
  afterAll(() => app.close());

  it('shows every connection, the waiters and their limit', async () => {
    const { key, ...details } = (await indicator.isHealthy('key')) as { key: object };
    expect(details).toEqual({});
    expect(key).toEqual({
      ...{ status: 'up', connections: { default: 'up', reports: 'up' }, disconnected: 0 },
      // The lease of the check itself is renewed if the machine stalls.
      ...{ waiting: 0, maxWaiters: 8, lost: 0, renewalLagMs: expect.any(Number) },
    });
  });

  it('is down when the share of waiters reaches its limit', async () => {
    const lease = await locks.acquire('busy');
    const waiters = [1, 2].map(() => locks.withLock('busy', { wait: '10s' }, () => undefined));
    expect(await indicator.isHealthy('locks')).toMatchObject({ locks: { status: 'up', waiting: 2 } });
    expect(await indicator.isHealthy('locks', { maxWaitingShare: 0.5 })).toMatchObject({ locks: { status: 'down' } });
    await lease.release();
    await Promise.all(waiters);
  });

  it('counts the leases that were lost in the last minute, and the lag of renewals', async () => {
    const lease = await locks.acquire('renewed', { ttl: '1500ms' });
    await eventually(async () => {
      expect(await indicator.isHealthy('locks', { maxRenewalLagMs: 0 })).toMatchObject({ locks: { status: 'down' } });
    });
    await lease.release();
    await locks.acquire('lost', { ttl: 300, renew: false });
    await eventually(async () => {
      expect(await indicator.isHealthy('locks', { maxLost: 0 })).toMatchObject({ locks: { status: 'down', lost: 1 } });
    });
    const { locks: details } = await indicator.isHealthy('locks', { maxLost: 1 });
    expect(details).toMatchObject({ status: 'up', lost: 1 });
  });

  it('answers within 1 s while Redis does not respond', async () => {
    redis.pause();
    const since = monotonicMs();
    expect(await indicator.isHealthy('locks')).toMatchObject({ locks: { status: 'down' } });
    // Real time: the bound is what the check promises.
    expectBelow(monotonicMs() - since, 1_000);
    redis.resume();
    await eventually(
      async () => expect(await indicator.isHealthy('locks')).toMatchObject({ locks: { status: 'up' } }),
      10_000,
    );
  });

  it('shows lost connections until they are restored', async () => {
    await redis.stop();
    await eventually(async () => {
      const down = { status: 'down', disconnected: expect.any(Number) as number };
      const { locks: details } = await indicator.isHealthy('locks');
      expect(details).toMatchObject({
        ...down,
        connections: { default: 'LOCK_UNAVAILABLE', reports: 'LOCK_UNAVAILABLE' },
      });
      expect(details['disconnected']).toBeGreaterThan(0);
    }, 10_000);
    await redis.start();
    await eventually(async () => {
      expect(await indicator.isHealthy('locks')).toMatchObject({ locks: { status: 'up', disconnected: 0 } });
    }, 10_000);
  }, 25_000);

  it('never shows a key', async () => {
    await locks.withLock('secret', () => undefined);
    expect(JSON.stringify(await indicator.isHealthy('locks'))).not.toMatch(/secret|health:/);
  });
});
