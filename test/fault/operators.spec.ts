import { LockService } from '../../libs/distribute-lock/src/nest/lock.service.js';
import { eventually } from '../support/eventually.js';
import { PREFIX } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

describe('An operator who inspects and revokes locks', () => {
  const world = useLockWorld();
  const locks = (url?: string): LockService => new LockService(world.locks(url).engine);

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

  it('revokes a lock of a foreign client that wrote binary data', async () => {
    const key = world.newKey();
    await world.client.set(PREFIX + key, Buffer.from([0xac, 0xed, 0x00, 0x05, 0x74]), 'PX', 60_000);
    const operator = locks();
    expect(await operator.inspect(key)).toMatchObject({ held: true, kind: 'foreign' });
    expect(await operator.forceRelease(key)).toBe(true);
    expect(await world.keysOf(key)).toEqual([]);
  });
});
