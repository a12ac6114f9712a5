import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { eventually } from '../support/eventually.js';
import { PREFIX } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

const FENCE = new RedisKeys(PREFIX).fence;

describe('P15: every key that the library writes, except the counter of fencing tokens, has a TTL', () => {
  const world = useLockWorld();

  /** Every TTL without a renewal is shorter. */
  const LONGEST_MS = 60_000;
  /** The record of a process stays longer, so that it is written rarely. */
  const RECORD_MS = 600_000;

  async function expectEnds(atLeast: number): Promise<void> {
    const keys = await world.client.keys('*');
    const ends = await Promise.all(keys.map(async (key) => [key, await world.client.pttl(key)] as const));
    const longestOf = (key: string): number => (key.startsWith('p1:') ? RECORD_MS : LONGEST_MS);
    const wrong = ends.filter(([key, ms]) => key !== FENCE && (ms === -1 || ms > longestOf(key)));
    expect(wrong).toEqual([]);
    expect(keys.length).toBeGreaterThanOrEqual(atLeast);
  }

  it('while the lock is held, waited for, renewed, offered, claimed, handed over and released', async () => {
    const holder = world.locks();
    const waiter = await world.process();
    const options = { ttl: 1_500, wait: '20s' } as const;
    const keys = Array.from({ length: 20 }, () => world.newKey());
    const leases = await Promise.all(keys.map((key) => holder.acquire(key, options)));
    await expectEnds(20);
    const granted = keys.map((key) => waiter.do('acquire', { key, ...options }));
    await eventually(async () => expect(await world.waiting(keys[19])).toBe(1));
    await expectEnds(40);
    await leases[0].extend('5s');
    const firstEnd = leases[1].grant.validUntil;
    await eventually(async () => {
      await expectEnds(40);
      expect(leases[1].grant.validUntil).toBeGreaterThan(firstEnd); // renewed
    });
    waiter.pause();
    await Promise.all(leases.map((lease) => lease.release())); // offered to a waiter that does not respond
    await expectEnds(20);
    waiter.resume();
    await Promise.all(granted);
    await expectEnds(20);
  });

  it('also when the process that held and waited is killed: no key is left after the TTLs', async () => {
    const process = await world.process();
    const [held, foreign] = [world.newKey(), world.newKey()];
    await process.do('acquire', { key: held, ttl: 500 });
    await world.client.set(PREFIX + foreign, 'somebody', 'PX', 500);
    void process.do('acquire', { key: foreign, wait: '20s', ttl: 500 });
    await eventually(async () => expect(await world.waiting(foreign)).toBe(1));
    await process.kill('SIGKILL');
    await expectEnds(2);
    await eventually(async () => expect(await world.keysOf(held)).toEqual([]));
  });
});
