import { hostname } from 'node:os';

import { LockService } from '../../libs/distribute-lock/src/nest/lock.service.js';
import { eventually } from '../support/eventually.js';
import { PREFIX } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

describe('An operator who inspects and revokes locks', () => {
  const world = useLockWorld();
  const locks = (url?: string): LockService => new LockService(() => world.locks(url).engine);

  /** The channel id of the process that holds the lock. */
  const inboxOf = async (key: string): Promise<string> => (await world.client.get(PREFIX + key))!.slice(0, 11);

  it.each(['inspect', 'forceRelease'] as const)(
    'is refused by %s when the server does not respond',
    async (method) => {
      const operator = locks();
      await operator.inspect('connected');
      world.server.pause();
      try {
        await expect(operator[method](world.newKey())).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      } finally {
        world.server.resume();
      }
    },
    10_000,
  );

  it('revokes a lock although the reply is lost, and its holder is notified', async () => {
    const key = world.newKey();
    const lease = await world.locks().acquire(key, { ttl: '60s' });
    const proxy = await world.proxy();
    const operator = locks(proxy.url);
    await operator.withLock(world.newKey(), () => undefined);
    const lost = proxy.swallowNextReply(/evalsha/i);
    const taken = operator.forceRelease(key);
    await lost;
    expect(await taken).toBe(true);
    await eventually(() => expect(lease.signal.aborted).toBe(true), 1_000);
    expect(await world.keysOf(key)).toEqual([]);
    await lease.release();
  });

  it('learns host and process of a holder that has crashed, and does not end its hold by a fencing token', async () => {
    const key = world.newKey();
    const holder = world.locks();
    const { fencingToken } = await holder.acquire(key, { ttl: '60s' });
    const operator = locks();
    const record = `p1:${PREFIX}${await inboxOf(key)}`;
    await eventually(async () => expect(await world.client.exists(record)).toBe(1), 5_000);
    expect(await world.client.pttl(record)).toBeGreaterThan(500_000);
    // Its lease stays in Redis until its ttl, as after a crash.
    await holder.engine.close();
    const { holders } = await operator.inspect(key);
    expect(holders).toMatchObject([{ here: false, host: hostname(), pid: process.pid, holds: [] }]);
    await expect(operator.forceRelease(key, { fencingToken })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(await operator.inspect(key)).toMatchObject({ held: true });
    expect(await operator.forceRelease(key)).toBe(true);
  }, 10_000);

  it('gets nothing from a process whose owner token an asking client has made up', async () => {
    const key = world.newKey();
    const { acquire, events } = world.locks();
    const lease = await acquire(key, { ttl: '60s' });
    const id = await inboxOf(key);
    const ask = (): Promise<number> =>
      world.client.publish(`nestjs-lock:1:${PREFIX}${id}`, `q7 ${id}${'x'.repeat(11)}:1 ${PREFIX}${key}`);
    await eventually(async () => expect(await ask()).toBe(1));
    await eventually(() => expect(events.filter(({ type }) => type === 'degraded')).toHaveLength(1), 5_000);
    expect(await world.client.keys('p1:*:7')).toEqual([]);
    await lease.release();
  });

  it('revokes a lock of a foreign client that wrote binary data', async () => {
    const key = world.newKey();
    await world.client.set(PREFIX + key, Buffer.from([0xac, 0xed, 0x00, 0x05, 0x74]), 'PX', 60_000);
    const operator = locks();
    expect(await operator.inspect(key)).toMatchObject({ held: true, kind: 'foreign' });
    expect(await operator.forceRelease(key)).toBe(true);
    expect(await world.keysOf(key)).toEqual([]);
  });
});
