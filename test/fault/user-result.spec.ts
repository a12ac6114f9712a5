import { setTimeout as sleep } from 'node:timers/promises';

import { Redis } from 'ioredis';

import { LockService } from '../../libs/distribute-lock/src/nest/lock.service.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import { locksOn, PREFIX } from './support/lock-engine.js';
import { monotonicMs } from '../support/monotonic.js';
import { useLockWorld } from './support/use-lock-world.js';

/** The library waits 100 ms for the reply to a release; the rest is slack for a busy machine. */
const NO_LATER_THAN_MS = 250;

describe('P17: the result or error of the work is never replaced or delayed by a failing release', () => {
  const world = useLockWorld();

  /** Runs work under a lock while the network fails before the work ends. */
  async function run(
    work: () => string,
    fault: 'hold' | 'cut' | 'forbid',
  ): Promise<{ result: unknown; tookMs: number; events: string[] }> {
    const proxy = await world.proxy();
    const username = `worker-${fault}`;
    await world.client.call('ACL', 'SETUSER', username, 'on', '>secret', '~*', '&*', '+@all');
    const locks = world.locks({ host: '127.0.0.1', port: proxy.port, username, password: 'secret' });
    let endedAt = 0;
    const result: unknown = await new LockService(() => locks.engine)
      .withLock(world.newKey(), async () => {
        if (fault === 'forbid') await world.client.call('ACL', 'SETUSER', username, '-evalsha', '-eval');
        else if (fault === 'hold') proxy.hold();
        else {
          proxy.goDown();
        }
        endedAt = monotonicMs();
        return work();
      })
      .catch((error: unknown) => error);
    return { result, tookMs: monotonicMs() - endedAt, events: locks.events.map(({ type }) => type) };
  }

  const fails = (): never => {
    throw new RangeError('of the work itself');
  };

  it.each(['hold', 'cut', 'forbid'] as const)('when the release meets "%s"', async (fault) => {
    const good = await run(() => 'the result', fault);
    expect(good.result).toBe('the result');
    expectBelow(good.tookMs, NO_LATER_THAN_MS);
    const bad = await run(fails, fault);
    expect(bad.result).toEqual(new RangeError('of the work itself'));
    expectBelow(bad.tookMs, NO_LATER_THAN_MS);
  });

  it.each(['before', 'after'])(
    'when the work ends %s the lock engine is closed, and Redis does not respond',
    async (when) => {
      const { locks, proxy } = await onGivenClient();
      let finish = (): void => undefined;
      const work = new Promise<void>((resolve) => (finish = resolve));
      const result = new LockService(() => locks.engine).withLock(world.newKey(), () => work.then(() => 'the result'));
      await eventually(() => expect(locks.events.map(({ type }) => type)).toEqual(['acquired']));
      proxy.hold();
      await locks.engine.drain(50);
      if (when === 'before') {
        finish();
        await eventually(() => expect(locks.events.map(({ type }) => type)).toContain('released'));
      }
      await locks.engine.close();
      const closedAt = monotonicMs();
      finish();
      expect(await result).toBe('the result');
      expectBelow(monotonicMs() - closedAt, NO_LATER_THAN_MS);
    },
  );

  it('also when a command of the lease is in flight while the lock engine is closed', async () => {
    const { locks, proxy } = await onGivenClient();
    const [one, other] = [await locks.acquire(world.newKey()), await locks.acquire(world.newKey())];
    proxy.hold();
    const wishes = [one.extend('60s'), other.downgrade()].map((wish) =>
      wish.then(
        () => 'made',
        ({ code }: { code: string }) => code,
      ),
    );
    await sleep(20);
    await locks.engine.close();
    const closedAt = monotonicMs();
    expect(await Promise.all(wishes)).toEqual(['LOCK_UNAVAILABLE', 'LOCK_UNAVAILABLE']);
    expectBelow(monotonicMs() - closedAt, NO_LATER_THAN_MS);
  });

  /** Closing the engine does not close a client of the application. */
  async function onGivenClient() {
    const proxy = await world.proxy();
    const client = new Redis(proxy.port, '127.0.0.1');
    client.on('error', () => undefined);
    onCleanup(() => client.disconnect());
    const locks = locksOn(RedisLockStore.open(client, { prefix: PREFIX }));
    await (await locks.acquire(world.newKey())).release();
    locks.events.length = 0;
    return { locks, proxy };
  }
});
