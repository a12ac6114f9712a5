import { setTimeout as sleep } from 'node:timers/promises';

import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { eventually } from '../support/eventually.js';
import type { Locks } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

const FENCE = new RedisKeys('lock:').fence;

describe('P11: the fencing tokens of a key rise', () => {
  const world = useLockWorld();

  it('from holder to holder, after FLUSHALL, and after a restart without data', async () => {
    const [alice, bob] = [world.locks(), world.locks()];
    const key = world.newKey();
    const tokens: number[] = [];
    // 200 callers at a time: reserved tokens must not run ahead of the clock on which they are based
    const round = async (): Promise<void> => {
      const all = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? alice : bob).acquire(key, { wait: '20s' }));
      await Promise.all(
        all.map(async (acquired) => {
          const lease = await acquired;
          tokens.push(lease.fencingToken);
          await lease.release();
        }),
      );
    };
    await round();
    await world.client.flushall();
    await round();
    await world.server.restart();
    await round();
    expect(tokens).toHaveLength(600);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    expect(tokens.every(Number.isSafeInteger)).toBe(true);
  });

  it('also when the clock of the server was set back, as long as the server keeps its data', async () => {
    const alice = world.locks();
    const key = world.newKey();
    const ahead = Date.now() * 1_000 + 3_600_000_000;
    await world.client.set(FENCE, ahead);
    const first = await alice.acquire(key);
    await first.release();
    const second = await alice.acquire(key);
    await second.release();
    expect(first.fencingToken).toBeGreaterThanOrEqual(ahead);
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
  });

  describe('for a single caller, whose tokens the server increments,', () => {
    // Removes the counter of the previous test, which was ahead of the clock.
    beforeAll(() => world.client.del(FENCE));

    /** The ids of the connections of alice and bob that carry commands. */
    async function connections(): Promise<(string | undefined)[]> {
      const own = await world.client.client('ID');
      const list = String(await world.client.call('CLIENT', 'LIST', 'TYPE', 'normal'));
      const ids = list.split('\n').map((line) => /^id=(\d+) /.exec(line)?.[1]);
      return ids.filter((id) => id !== undefined && id !== String(own));
    }

    async function number(locks: Locks, key: string): Promise<number> {
      const lease = await locks.acquire(key, { wait: '5s' });
      await lease.release();
      return lease.fencingToken;
    }

    it('after the counter was lost', async () => {
      const alice = world.locks();
      const key = world.newKey();
      const first = await number(alice, key);
      const second = await number(alice, key);
      expect(second).toBe(first + 1); // incremented
      await world.client.flushall();
      expect(await number(alice, key)).toBeGreaterThan(second);
    });

    it('after another server took over that does not know the last tokens', async () => {
      const [alice, bob] = [world.locks(), world.locks()];
      const key = world.newKey();
      const known = await number(alice, key);
      let last = 0;
      for (let i = 0; i < 10; i += 1) last = await number(bob, key);
      const taken = await bob.acquire(world.newKey());
      await world.client.set(FENCE, known + 2);
      const before = await connections();
      // The clients connect again, as they do after a failover.
      for (const type of ['NORMAL', 'PUBSUB']) await world.client.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'YES');
      await eventually(async () => {
        const now = await connections();
        expect(now).toHaveLength(before.length);
        expect(now.filter((id) => before.includes(id))).toEqual([]);
      });
      // After a refused acquire alice uses the new connection, and has no new token.
      await eventually(() => expect(alice.acquire(taken.key)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' }));
      expect(await number(alice, key)).toBeGreaterThan(last);
    });

    it('by the clock when the ACL forbids INCRBY', async () => {
      await world.client.call('ACL', 'SETUSER', 'plain', 'on', '>secret', '~*', '&*', '+@all', '-incrby');
      const alice = world.locks(world.server.url.replace('//', '//plain:secret@'));
      const key = world.newKey();
      const first = await number(alice, key);
      const second = await number(alice, key);
      expect(second).toBeGreaterThan(first + 1);
    });

    it('once a second by the clock of the server', async () => {
      const alice = world.locks();
      const key = world.newKey();
      const first = await number(alice, key);
      await sleep(1_100);
      const later = await number(alice, key);
      expect(later - first).toBeGreaterThan(1_000_000);
    });
  });
});
