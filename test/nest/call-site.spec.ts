import { Controller, Injectable, Post } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  DistributeLock,
  type Duration,
  type Lease,
  LockModule,
  LockService,
  type LockOptions,
} from 'nestjs-distribute-lock';

@Injectable()
class Stock {
  constructor(private readonly locks: LockService) {}

  @DistributeLock({ key: 'stock:#{arg0}' })
  async decorated(_id: string): Promise<void> {}

  @DistributeLock({ key: 'stock:#{arg0}', options: (_: Stock, id: string): LockOptions => ({ ttl: id as Duration }) })
  async computed(_id: string): Promise<void> {}

  async withLock(key: string): Promise<void> {
    await this.locks.withLock(key, () => undefined);
  }

  async acquire(key: string): Promise<void> {
    await this.locks.acquire(key);
  }

  async acquireAll(key: string): Promise<void> {
    await this.locks.acquire([key, `${key}:2`]);
  }

  async together(key: string): Promise<void> {
    await Promise.all([this.locks.acquire(key), this.locks.acquire(`${key}:3`)]);
  }

  async tryAcquire(key: string): Promise<void> {
    await this.locks.tryAcquire(key, { signal: AbortSignal.abort() });
  }

  async inspect(key: string): Promise<void> {
    await this.locks.inspect(key);
  }

  async forceRelease(key: string): Promise<void> {
    await this.locks.forceRelease(key);
  }
}

@Controller()
class Orders {
  constructor(private readonly stock: Stock) {}

  @Post()
  async create(method: Exclude<keyof Stock, 'locks'>, argument: string): Promise<void> {
    await this.stock[method](argument);
  }
}

/** Without the frames of the runtime, which depend on what runs the promises. */
const framesOf = (stack: string): string[] =>
  stack
    .split('\n    at ')
    .slice(1)
    .filter((frame) => !frame.includes('Promise.all') && !frame.includes('(node:internal/'));

describe('The stack of a lock error', () => {
  let orders: Orders;
  let held: Lease;
  let close: () => Promise<void>;

  beforeAll(async () => {
    const imports = [LockModule.forRoot({ connection: 'memory' })];
    const module = await Test.createTestingModule({ imports, providers: [Stock], controllers: [Orders] }).compile();
    await module.init();
    orders = module.get(Orders);
    held = await module.get(LockService).acquire('stock:1');
    close = () => module.close();
  });

  afterAll(async () => {
    await held.release();
    await close();
  });

  it.each([
    ...(['withLock', 'acquire', 'acquireAll', 'together', 'tryAcquire'] as const).map(
      (name) => [name, 'stock:1'] as const,
    ),
    ...(['withLock', 'acquire', 'tryAcquire', 'inspect', 'forceRelease'] as const).map((name) => [name, ''] as const),
  ])('begins at the code that called LockService (%s of "%s")', async (method, key) => {
    const { stack } = (await orders.create(method, key).catch((error: unknown) => error)) as Error;
    const frames = framesOf(stack!);
    expect(frames[0]).toContain(`Stock.${method} (`);
    expect(frames[1]).toContain('Orders.create (');
  });

  it.each([
    ['decorated', '1', 'LOCK_CONTENDED'],
    ['decorated', '', 'LOCK_KEY'],
    ['computed', 'soon', 'LOCK_CONFIGURATION'],
  ] as const)('begins at the code that called a locked method (%s of "%s")', async (method, id, code) => {
    const error = (await orders.create(method, id).catch((thrown: unknown) => thrown)) as Error;
    expect(error).toMatchObject({ code });
    expect(framesOf(error.stack!)[0]).toContain('Orders.create (');
  });
});
