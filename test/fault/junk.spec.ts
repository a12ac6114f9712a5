import type { LockKind } from '../../libs/distribute-lock/src/store/lock-store.js';
import { PREFIX } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

const kinds: readonly LockKind[] = ['exclusive', 'write', 'semaphore'];
const optionsOf = (kind: LockKind) => (kind === 'semaphore' ? { kind, permits: 2 } : { kind });
const counters = ['inf', '-inf', 'nan', '9007199254740993', '1e300', '-5', 'junk', '1.5'];

describe('P11: a corrupt counter of fencing tokens', () => {
  const world = useLockWorld();
  beforeEach(() => world.client.flushall());

  it.each(kinds.flatMap((kind) => counters.map((counter) => [kind, counter] as const)))(
    'refuses %s locks while it is %s, names its key, and leaves nothing behind',
    async (kind, counter) => {
      const [before, locks] = [world.locks(), world.locks()];
      const key = world.newKey();
      await (await before.acquire(key, optionsOf(kind))).release();
      const [fence] = await world.client.keys('f*');
      await world.client.set(fence, counter);
      for (const one of [before, locks]) {
        await expect(one.acquire(key, optionsOf(kind))).rejects.toMatchObject({
          code: 'LOCK_UNAVAILABLE',
          cause: { message: expect.stringContaining(`Delete the key "${fence}"`) as string },
        });
      }
      await world.client.del(fence);
      const lease = await locks.acquire(key, { ...optionsOf(kind), wait: '2s' });
      expect(Number.isSafeInteger(lease.fencingToken)).toBe(true);
      await lease.release();
    },
  );

  it('is refused for each call of a batch', async () => {
    const locks = world.locks();
    await (await locks.acquire(world.newKey())).release();
    const [fence] = await world.client.keys('f*');
    await world.client.set(fence, 'inf');
    const calls = await Promise.allSettled(Array.from({ length: 20 }, () => locks.acquire(world.newKey())));
    expect(calls.every(({ status }) => status === 'rejected')).toBe(true);
    expect(await world.client.get(fence)).toBe('inf');
  });
});

describe('A value of a wrong type in a helper key', () => {
  const world = useLockWorld();
  beforeEach(() => world.client.flushall());
  const helper = (key: string, name: string): string => `${name}1:{${PREFIX}${key}}`;

  it.each([
    ['exclusive', 'q'],
    ['write', 'q'],
    ['read', 'r'],
    ['semaphore', 's'],
    ['semaphore', 'sq'],
    ['semaphore', 'sa'],
  ] as const)('is named in the error of the %s lock when its %s has another type', async (kind, name) => {
    const [holder, locks] = [world.locks(), world.locks()];
    const key = world.newKey();
    const options = kind === 'semaphore' ? ({ kind, permits: 1 } as const) : { kind };
    await holder.acquire(key, options);
    await world.client.del(helper(key, name));
    await world.client.hset(helper(key, name), 'field', 'value');
    await expect(locks.acquire(key, { ...options, wait: '2s' })).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      cause: { message: expect.stringContaining(`Delete "${helper(key, name)}"`) as string },
    });
  });

  it('does not disable a semaphore as a member of its leases or its queue', async () => {
    const [holder, locks] = [world.locks(), world.locks()];
    const key = world.newKey();
    const options = { kind: 'semaphore', permits: 2, wait: '2s' } as const;
    const first = await holder.acquire(key, options);
    for (const name of ['s', 'sq', 'sa']) {
      await world.client.zadd(helper(key, name), Date.now() + 60_000, 'junk', -1, 'more:junk:here');
    }
    const second = await locks.acquire(key, options);
    const third = locks.acquire(key, options);
    await first.extend('20s');
    await first.release();
    await (await third).release();
    await second.release();
    await (await locks.acquire(key, options)).release();
  });

  it('does not disable an exclusive lock as a member of its queue', async () => {
    const [holder, locks] = [world.locks(), world.locks()];
    const key = world.newKey();
    const first = await holder.acquire(key);
    await world.client.zadd(helper(key, 'q'), -(2 ** 37), 'junk', 1, 'more:junk:here');
    const second = locks.acquire(key, { wait: '5s' });
    await first.release();
    await (await second).release();
  });
});
