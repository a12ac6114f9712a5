import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { jest } from '@jest/globals';
import { type INestApplicationContext, Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';

import { isLockError } from '../errors.js';
import type { Lease } from '../engine/lease/lease.js';
import { CurrentLease } from '../nest/decorators/current-lease.decorator.js';
import { DistributeLock } from '../nest/decorators/distribute-lock.decorator.js';
import { InjectLockService } from '../nest/decorators/inject-lock-service.decorator.js';
import { LockService } from '../nest/lock.service.js';
import { LockModule } from '../nest/module/lock.module.js';
import { LOCK_RUNTIME, LockTestingModule, TestLocks } from './index.js';

/** Work that runs until `end()` is called. */
class Work {
  lease: Lease | undefined;
  end: () => void = () => undefined;

  run(lease: Lease | undefined): Promise<string> {
    this.lease = lease;
    return new Promise((resolve) => (this.end = () => resolve('shipped')));
  }
}

@Injectable()
class Orders {
  readonly work = new Work();

  constructor(@InjectLockService('reports') readonly reports: LockService) {}

  @DistributeLock({ key: 'order:#{arg0}', ttl: '30s' })
  async ship(_id: string, @CurrentLease() lease?: Lease): Promise<string> {
    return this.work.run(lease);
  }

  @DistributeLock({ key: 'order:#{arg0}', ttl: '30s', wait: '5s' })
  async shipLater(_id: string, @CurrentLease() lease?: Lease): Promise<string> {
    return this.work.run(lease);
  }
}

/** An application whose Redis does not exist. */
@Module({
  imports: [LockModule.forRoot({ connection: undefined, connections: { reports: 'redis://127.0.0.1:1' } })],
  providers: [Orders],
})
class AppModule {}

const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'granted',
    (error: unknown) => (isLockError(error) ? error.code : error),
  );

describe('TestLocks', () => {
  let locks: TestLocks;
  let app: INestApplicationContext;
  let orders: Orders;

  beforeEach(async () => {
    locks = new TestLocks();
    app = await start(locks);
    orders = app.get(Orders);
  });

  afterEach(async () => {
    orders.work.end();
    await app.close();
  });

  const held = async (key: string): Promise<void> => {
    for (let turn = 0; turn < 10 && !locks.held.some((lock) => lock.key === key); turn += 1) await locks.advance(0);
  };

  it('lists held locks until they are released', async () => {
    const shipped = orders.ship('42');
    await held('order:42');
    expect(locks.held).toEqual([{ key: 'order:42', name: 'Orders.ship' }]);
    expect(await codeOf(orders.ship('42'))).toBe('LOCK_CONTENDED');
    orders.work.end();
    expect(await shipped).toBe('shipped');
    expect(locks.held).toEqual([]);
  });

  it('makes callers contend until the lease is released', async () => {
    const elsewhere = await locks.contend('order:42');
    expect(locks.held).toEqual([]);
    expect(await codeOf(orders.ship('42'))).toBe('LOCK_CONTENDED');
    await locks.advance('1h');
    expect(await codeOf(orders.ship('42'))).toBe('LOCK_CONTENDED');
    expect(elsewhere.isHeld()).toBe(true);

    const waiting = orders.shipLater('42');
    await locks.advance('1s');
    await elsewhere.release();
    await held('order:42');
    orders.work.end();
    expect(await waiting).toBe('shipped');
  });

  it('keeps locks whose lease the test does not keep, also after a garbage collection', async () => {
    await locks.contend('order:42');
    await app.get(LockService).acquire(['stock:1', 'stock:2']);
    const waiting = [codeOf(orders.shipLater('42')), codeOf(app.get(LockService).acquire('stock:1', { wait: '5s' }))];
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    for (let i = 0; i < 10; i += 1) {
      collect();
      await nextTurn();
    }
    await locks.advance('5s');
    expect(await Promise.all(waiting)).toEqual(['LOCK_WAIT_TIMEOUT', 'LOCK_WAIT_TIMEOUT']);
  });

  it('ends the lock of a crashed instance after its ttl', async () => {
    await locks.contend('order:42', { ttl: '4s', renew: false });
    const waiting = orders.shipLater('42');
    await locks.advance('3.9s');
    expect(locks.held).toEqual([]);
    await locks.advance('150ms');
    expect(locks.held).toEqual([{ key: 'order:42', name: 'Orders.shipLater' }]);
    orders.work.end();
    expect(await waiting).toBe('shipped');
  });

  it('ends waits without waiting', async () => {
    await locks.contend('order:42');
    const since = performance.now();
    const waiting = codeOf(orders.shipLater('42'));
    await locks.advance('5s');
    expect(await waiting).toBe('LOCK_WAIT_TIMEOUT');
    expect(performance.now() - since).toBeLessThan(2_000);
  });

  it('follows real time from the advanced time on', async () => {
    const lease = await app.get(LockService).acquire('stock:1', { ttl: '30s', renew: false });
    const since = performance.now();
    await locks.advance('29.5s');
    expect(lease.isHeld()).toBe(true);
    await new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
    expect(performance.now() - since).toBeLessThan(10_000);
  });

  it('renews held leases, however far time is advanced', async () => {
    const shipped = orders.ship('42');
    await locks.advance('1h');
    expect(orders.work.lease!.isHeld()).toBe(true);
    expect(orders.work.lease!.signal.aborted).toBe(false);
    orders.work.end();
    expect(await shipped).toBe('shipped');
  });

  it('makes the holder lose the lock, which becomes free', async () => {
    const shipped = orders.ship('42');
    await held('order:42');
    const { lease } = orders.work;
    const onAbort = jest.fn();
    lease!.signal.addEventListener('abort', onAbort);

    locks.lose('order:42');
    expect(onAbort).toHaveBeenCalledTimes(1);
    expect(isLockError(lease!.signal.reason, 'LEASE_LOST')).toBe(true);
    expect(lease!.isHeld()).toBe(false);
    expect(locks.held).toEqual([]);

    await using elsewhere = await locks.contend('order:42');
    expect(elsewhere.fencingToken).toBeGreaterThan(lease!.fencingToken);
    orders.work.end();
    expect(await shipped).toBe('shipped');
    expect(elsewhere.isHeld()).toBe(true);
  });

  it('grants a lost lock to the next waiter', async () => {
    void orders.ship('42');
    await held('order:42');
    const { lease, end } = orders.work;
    const behind = orders.shipLater('42');
    await locks.advance(0);
    expect(orders.work.lease).toBe(lease);
    locks.lose('order:42');
    await locks.advance(0);
    expect(orders.work.lease!.fencingToken).toBeGreaterThan(lease!.fencingToken);
    end();
    orders.work.end();
    expect(await behind).toBe('shipped');
  });

  it('keeps connections apart', async () => {
    await orders.reports.acquire('order:42');
    expect(locks.held).toEqual([]);
    expect(locks.connection('reports').held).toEqual([{ key: 'order:42', name: 'order' }]);
    await locks.contend('order:42');
    locks.connection('reports').lose('order:42');
    expect(locks.connection('reports').held).toEqual([]);
  });

  it('rejects contend() on a held key and lose() on a free key', async () => {
    void orders.ship('42');
    await held('order:42');
    await expect(locks.contend('order:42')).rejects.toThrow(
      'contend("order:42") comes too late: "Orders.ship" of the application holds the lock.',
    );
    await locks.contend('order:7');
    await expect(locks.contend('order:7')).rejects.toThrow('an earlier contend()');
    expect(() => locks.lose('order:7')).toThrow('lose("order:7") finds no holder. Held now: "order:42".');
    expect(() => locks.lose('')).toThrow('The key given to lose() is empty.');
    await expect(locks.contend('')).rejects.toThrow('is empty');
    await expect(locks.advance('soon' as never)).rejects.toThrow('"by"');
  });

  it('makes two applications instances of one application', async () => {
    const other = await start(locks);
    const shipped = orders.ship('42');
    await held('order:42');
    expect(await codeOf(other.get(Orders).ship('42'))).toBe('LOCK_CONTENDED');
    orders.work.end();
    await shipped;
    await other.close();
  });
});

describe('TestLocks in an application', () => {
  it('are provided by LockTestingModule with options', async () => {
    const module = await Test.createTestingModule({
      imports: [LockTestingModule.forRoot({ defaults: { wait: '1s' }, connections: { reports: undefined } })],
      providers: [Orders],
    }).compile();
    await module.init();
    const locks = module.get(TestLocks);
    await locks.contend('stock:1');
    const waiting = codeOf(module.get(LockService).acquire('stock:1'));
    await locks.advance('1s');
    expect(await waiting).toBe('LOCK_WAIT_TIMEOUT');
    await module.close();
  });

  it('replace the runtime of a module that imports LockModule', async () => {
    @Module({ imports: [LockModule.forRoot({ connection: undefined })] })
    class LocksModule {}

    @Module({ imports: [LocksModule] })
    class WholeModule {}

    const module = await Test.createTestingModule({ imports: [WholeModule] })
      .overrideModule(LocksModule)
      .useModule(LockTestingModule.forRoot())
      .compile();
    await module.init();
    const lease = await module.get(LockService).acquire('stock:1');
    expect(module.get(TestLocks).held).toEqual([{ key: 'stock:1', name: 'stock' }]);
    await lease.release();
    await module.close();
  });

  it('work beside fake timers of the runner', async () => {
    jest.useFakeTimers();
    try {
      const locks = new TestLocks();
      const app = await start(locks);
      const lease = await app.get(LockService).acquire('stock:1');
      jest.advanceTimersByTime(120_000);
      await locks.advance('1h');
      expect(lease.isHeld()).toBe(true);
      const closing = app.close();
      await lease.release();
      await closing;
    } finally {
      jest.useRealTimers();
    }
  });
});

async function start(locks: TestLocks): Promise<INestApplicationContext> {
  const module = await Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(LOCK_RUNTIME)
    .useValue(locks)
    .compile();
  module.useLogger(false);
  return module.init();
}
