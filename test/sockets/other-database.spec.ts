import { Redis } from 'ioredis';

import { PREFIX } from '../fault/support/lock-engine.js';
import { useLockWorld } from '../fault/support/use-lock-world.js';

const DATABASE = 3;
const ttl = '30s';

describe('A connection whose SELECT fails grants no lock in database 0', () => {
  const world = useLockWorld();

  async function ownerIn(db: number, key: string): Promise<string | null> {
    const client = new Redis(world.server.url, { db });
    try {
      return await client.get(PREFIX + key);
    } finally {
      client.disconnect();
    }
  }

  it('while the error passes, and serves its callers afterwards', async () => {
    const proxy = await world.proxy();
    const { port } = world.server;
    const there = world.locks({ host: '127.0.0.1', port, db: DATABASE });
    const here = world.locks({ host: '127.0.0.1', port: Number(new URL(proxy.url).port), db: DATABASE });
    await (await here.acquire(world.newKey(), { ttl })).release();
    const lease = await there.acquire(world.newKey(), { ttl });
    let refused = 0;
    proxy.prepare = (next) =>
      next.interceptSome(/^select /i, () => {
        refused += 1;
        if (refused === 2) proxy.prepare = () => {};
        return '-BUSY Redis is busy running a script.\r\n';
      });
    proxy.cut();
    const waiting = here.acquire(lease.key, { ttl, wait: '10s' });
    await expect(here.acquire(lease.key, { ttl, wait: 0 })).rejects.toThrow();
    while (refused < 2) await expect(here.acquire(lease.key, { ttl, wait: 0 })).rejects.toThrow();
    expect([await ownerIn(0, lease.key), await ownerIn(DATABASE, lease.key)]).toEqual([null, lease.grant.ownerToken]);
    await lease.release();
    await (await waiting).release();
  });

  it.each([
    ['the user lacks the permission', { db: DATABASE, username: 'few', password: 'secret' }],
    ['the server has fewer databases', { db: 99 }],
  ])('when %s', async (_, options) => {
    const { port } = world.server;
    await world.server.run((redis) =>
      redis.call('ACL', 'SETUSER', 'few', 'on', '>secret', '~*', '&*', '+@all', '-select'),
    );
    const here = world.locks({ host: '127.0.0.1', port, ...options });
    const key = world.newKey();
    for (let calls = 0; calls < 5; calls += 1) {
      await expect(here.acquire(key, { ttl, wait: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    }
    expect(await ownerIn(0, key)).toBeNull();
  });
});
