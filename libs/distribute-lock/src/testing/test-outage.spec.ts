import { Controller, Injectable, type INestApplication, Post } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { DistributeLock, LockService } from 'nestjs-distribute-lock';
import { LockTestingModule, TestLocks } from 'nestjs-distribute-lock/testing';

@Controller()
class Orders {
  @Post()
  @DistributeLock({ key: 'order' })
  async create(): Promise<string> {
    return 'created';
  }
}

@Injectable()
class Stock {
  constructor(readonly name: string) {}

  @DistributeLock({ key: 'stock:#{arg0}', ttl: '30s' })
  async take(_id: string, work: () => unknown): Promise<string> {
    await work();
    return this.name;
  }
}

describe('TestLocks.outage', () => {
  let app: INestApplication;
  let locks: TestLocks;

  beforeEach(async () => {
    const module = await Test.createTestingModule({
      imports: [LockTestingModule.forRoot()],
      controllers: [Orders],
    }).compile();
    app = await module.createNestApplication().init();
    locks = app.get(TestLocks);
  });

  afterEach(() => app.close());

  it('makes calls fail with 503 until it ends', async () => {
    const end = locks.outage();
    const post = () => request(app.getHttpServer() as never).post('/');
    expect(await post()).toMatchObject({
      status: 503,
      body: { code: 'LOCK_UNAVAILABLE' },
      headers: { 'retry-after': '1' },
    });
    end();
    expect(await post()).toMatchObject({ status: 201, text: 'created' });
  });

  it('makes waiting callers fail after their wait, and holders lose their lease', async () => {
    const service = app.get(LockService);
    const lease = await service.acquire('held', { ttl: '10s' });
    locks.outage();
    const waiting = service.acquire('free', { wait: '5s' }).catch((error: unknown) => error);
    await locks.advance('6s');
    expect(await waiting).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await locks.advance('5s');
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'outage' });
    await expect(service.inspect('held')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });
});

describe('TestLocks.contend', () => {
  it('takes several locks at once', async () => {
    const locks = new TestLocks();
    const leases = await Promise.all([locks.contend('a'), locks.contend('b'), locks.contend('c')]);
    expect(leases.map((lease) => lease.isHeld())).toEqual([true, true, true]);
  });
});

describe('TestLocks.lockByHand', () => {
  it('locks objects that a test creates with new', async () => {
    const stock = new Stock('by hand');
    await expect(stock.take('1', () => undefined)).rejects.toThrow(/lockByHand\(\) in its set-up file/);
    const locks = new TestLocks();
    locks.lockByHand({ defaults: { ttl: '1m' } });
    const held = (): void => expect(locks.held).toEqual([{ key: 'stock:1', name: 'Stock.take' }]);
    expect(await stock.take('1', held)).toBe('by hand');
    await locks.contend('stock:1');
    await expect(stock.take('1', held)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
  });
});
