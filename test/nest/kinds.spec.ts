import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { CurrentLease, DistributeLock, type Lease, LockModule, LockService } from 'nestjs-distribute-lock';

import { onCleanup } from '../support/cleanup.js';

@Injectable()
class Stock {
  @DistributeLock({ key: 'item:#{arg0}', wait: '20s' })
  async take(item: string): Promise<string> {
    return `took ${item}`;
  }

  @DistributeLock({ key: 'item:#{arg0}', wait: '20s', reentrant: true })
  async count(item: string, @CurrentLease() lease?: Lease): Promise<number | undefined> {
    return item.length > 0 ? lease?.fencingToken : 0;
  }
}

@Injectable()
class Orders {
  constructor(private readonly stock: Stock) {}

  @DistributeLock({ key: 'item:#{arg0}', wait: '20s' })
  async open(item: string, call: (stock: Stock) => Promise<unknown>): Promise<unknown> {
    return item.length > 0 ? call(this.stock) : undefined;
  }

  @DistributeLock({ keys: ['account:#{arg0.from}', 'account:#{arg0.to}'] })
  async transfer(_order: { from: number; to: number }, @CurrentLease() lease?: Lease): Promise<readonly string[]> {
    return lease?.keys ?? [];
  }

  @DistributeLock({ keys: (items: readonly string[]) => items.map((item) => `item:${item}`) })
  async openAll(_items: readonly string[], @CurrentLease() lease?: Lease): Promise<readonly string[]> {
    return [...(lease?.fencingTokens.keys() ?? [])];
  }

  @DistributeLock({ key: 'reminder', ttl: '5s', release: 'expire', onContended: 'skip' })
  async remind(): Promise<string | undefined> {
    return 'sent';
  }

  @DistributeLock({ key: 'failing', ttl: '5s', release: 'expire' })
  async failing(): Promise<void> {
    throw new Error('no paper');
  }

  @DistributeLock({ key: 'job', ttl: '5s', minHold: '2s', onContended: 'skip' })
  async job(): Promise<string | undefined> {
    return 'done';
  }
}

describe('A decorated method', () => {
  let orders: Orders;
  let locks: LockService;

  beforeAll(async () => {
    const imports = [LockModule.forRoot({ connection: 'memory', drainTimeout: 0 })];
    const module = await Test.createTestingModule({ imports, providers: [Stock, Orders] }).compile();
    const app = await module.init();
    onCleanup(() => app.close());
    [orders, locks] = [app.get(Orders), app.get(LockService)];
  });

  it('that calls another service with the same lock fails at once, also through Promise.all', async () => {
    const usage = { code: 'LOCK_USAGE' };
    await expect(orders.open('x', (stock) => stock.take('x'))).rejects.toMatchObject(usage);
    await expect(orders.open('x', (stock) => Promise.all([stock.take('y'), stock.take('x')]))).rejects.toMatchObject(
      usage,
    );
    expect(await orders.open('x', (stock) => stock.take('y'))).toBe('took y');
  });

  it('lets the inner call enter with `reentrant`, inside its own lease', async () => {
    const [inner, again, outer] = (await orders.open('x', async (stock) => [
      await stock.count('x'),
      await stock.count('x'),
      locks.current('item:x')?.fencingToken,
    ])) as number[];
    expect([inner, again]).toEqual([outer, outer]);
    expect(await locks.inspect('item:x')).toMatchObject({ held: false });
  });

  it('acquires several locks, in one order, each once', async () => {
    expect(await orders.transfer({ from: 2, to: 1 })).toEqual(['account:1', 'account:2']);
    expect(await orders.transfer({ from: 2, to: 2 })).toEqual(['account:2']);
    expect(await orders.openAll(['b', 'a', 'b'])).toEqual(['item:a', 'item:b']);
    const held = await locks.acquire('account:2');
    await expect(orders.transfer({ from: 1, to: 2 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    expect(await locks.inspect('account:1')).toMatchObject({ held: false });
    await held.release();
  });

  it('rejects an empty list of keys, and an empty key in a list', async () => {
    await expect(orders.openAll([])).rejects.toMatchObject({ code: 'LOCK_KEY' });
    await expect(locks.acquire([])).rejects.toMatchObject({ code: 'LOCK_KEY' });
    await expect(locks.acquire(['a', ''])).rejects.toMatchObject({ code: 'LOCK_KEY' });
  });

  it('keeps its key until the ttl has passed, or for minHold, after success and after failure', async () => {
    expect([await orders.remind(), await orders.remind()]).toEqual(['sent', undefined]);
    await expect(orders.failing()).rejects.toThrow('no paper');
    await expect(orders.failing()).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    expect([await orders.job(), await orders.job()]).toEqual(['done', undefined]);
    for (const key of ['reminder', 'failing', 'job']) expect(await locks.inspect(key)).toMatchObject({ held: true });
  });
});
