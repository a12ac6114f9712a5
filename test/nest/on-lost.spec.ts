import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DistributeLock, LockModule, LockService } from 'nestjs-distribute-lock';

import { startFaultProxy } from '../support/proxy/fault-proxy.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';

type Work = () => Promise<void> | void;

@Injectable()
class Orders {
  constructor(private readonly locks: LockService) {}

  @DistributeLock({ key: 'decorated', onLost: 'throw' })
  async decorated(work: Work): Promise<string> {
    await work();
    return 'done';
  }

  @DistributeLock({ key: 'generated', onLost: 'throw' })
  async *generated(work: Work): AsyncGenerator<string> {
    await work();
    yield 'done';
  }

  async read(work: Work): Promise<string> {
    let last = '';
    for await (const value of this.generated(work)) last = value;
    return last;
  }

  withLock(work: Work): Promise<string> {
    return this.locks.withLock('by-hand', { onLost: 'throw' }, async () => {
      await work();
      return 'done';
    });
  }
}

describe("onLost: 'throw'", () => {
  const redis = useRedis();
  const calls = [
    ['decorated', 'decorated'],
    ['read', 'generated'],
    ['withLock', 'by-hand'],
  ] as const;

  async function start(): Promise<{ orders: Orders; proxy: Awaited<ReturnType<typeof startFaultProxy>> }> {
    const proxy = await startFaultProxy(Number(new URL(redis.url).port));
    const imports = [LockModule.forRoot({ connection: proxy.url, prefix: redis.prefix, drainTimeout: 0 })];
    const app = await Test.createTestingModule({ imports, providers: [Orders] }).compile();
    await app.init();
    onCleanup(() => app.close());
    return { orders: app.get(Orders), proxy };
  }

  it.each(calls)('rejects %s when its release finds the key with another owner', async (call, key) => {
    const { orders } = await start();
    const takeover = async (): Promise<void> =>
      void (await redis.client.set(`${redis.prefix}${key}`, 'another', 'PX', 60_000));
    // A holder waits 100 ms for the reply to its release; a busy machine may take longer.
    await eventually(async () => {
      await redis.client.del(`${redis.prefix}${key}`);
      await expect(orders[call](takeover)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    });
    await redis.client.del(`${redis.prefix}${key}`);
  });

  it.each(calls)('resolves %s when its release gets no reply', async (call) => {
    const { orders, proxy } = await start();
    await expect(orders[call](() => proxy.hold('toClient'))).resolves.toBe('done');
    await proxy.resume();
  });
});
