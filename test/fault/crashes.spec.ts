import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import { PREFIX } from './support/lock-engine.js';
import type { LockProcess } from './support/lock-process.js';
import { monotonicMs } from '../support/monotonic.js';
import { useLockWorld } from './support/use-lock-world.js';

const wait = '20s';

describe('P8: a crashed holder blocks the others no longer than its ttl', () => {
  const world = useLockWorld();

  it('and all waiters behind it are served: 50 waiters in two other processes', async () => {
    const ttl = 2_000;
    const [crashing, ...others] = await Promise.all([world.process(), world.process(), world.process()]);
    const key = world.newKey();
    await crashing.do('acquire', { key, ttl });
    const served: number[] = [];
    const waits = others.flatMap((process) =>
      Array.from({ length: 25 }, async () => {
        const granted = await process.do('acquire', { key, ttl, wait });
        served.push(granted.at);
        await process.do('release', granted);
      }),
    );
    await eventually(async () => expect(await world.waiting(key)).toBe(2));
    const killedAt = monotonicMs();
    await crashing.kill('SIGKILL');
    await Promise.all(waits);
    expect(served).toHaveLength(50);
    expectBelow(Math.min(...served) - killedAt, ttl + 1_000);
    expect(await world.keysOf(key)).toEqual([]);
  });

  it('also when the previous holder in its process requested a ttl of an hour', async () => {
    const ttl = 2_000;
    const [crashing, other] = await Promise.all([world.process(), world.process()]);
    const key = world.newKey();
    const first = await crashing.do('acquire', { key });
    // Both callers wait before the release, so a local hand-over without another command is possible.
    const before = crashing.do('acquire', { key, ttl: 3_600_000, wait });
    const behind = crashing.do('acquire', { key, ttl, wait });
    await crashing.do('release', first);
    await crashing.do('release', await before);
    await behind;
    const killedAt = monotonicMs();
    await crashing.kill('SIGKILL');
    const { at } = await other.do('acquire', { key, ttl, wait });
    expectBelow(at - killedAt, ttl + 1_000);
  });
});

describe('P9: a crashed or aborted waiter blocks no other waiter', () => {
  const world = useLockWorld();

  /** Lets `goes` end the first waiter. Returns how long after the release the second waiter is granted the lock. */
  async function secondComesIn(
    goes: (first: LockProcess, key: string) => Promise<unknown>,
    until: number,
  ): Promise<number> {
    const holder = world.locks();
    const [first, second] = await Promise.all([world.process(), world.process()]);
    const key = world.newKey();
    const lease = await holder.acquire(key, { ttl: '30s' });
    void first.do('acquire', { key, wait, abort: 'first' }).catch(() => {});
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    const granted = second.do('acquire', { key, wait });
    await eventually(async () => expect(await world.waiting(key)).toBe(2));
    await goes(first, key);
    await eventually(async () => expect(await world.waiting(key)).toBe(until));
    const releasedAt = monotonicMs();
    await lease.release();
    const { at } = await granted;
    await second.do('release', await granted);
    return at - releasedAt;
  }

  it('after SIGKILL while it was first in the queue', async () => {
    const tookMs = await secondComesIn(async (first) => {
      await first.kill('SIGKILL');
      await eventually(async () => expect(await subscribers()).toBeLessThanOrEqual(2));
    }, 2);
    expectBelow(tookMs, 300);
  });

  it('after it gave up', async () => {
    const tookMs = await secondComesIn((first) => first.do('abort', { abort: 'first' }), 1);
    expectBelow(tookMs, 300);
  });

  it('for 2 s at most, when it was stopped with its connections open', async () => {
    const tookMs = await secondComesIn(async (first) => first.pause(), 2);
    expectBelow(tookMs, 2_000);
  });

  it('for 2 s at most, when it crashed after an offer and before its claim', async () => {
    const holder = world.locks();
    const [first, second] = await Promise.all([world.process(), world.process()]);
    const key = world.newKey();
    const lease = await holder.acquire(key, { ttl: '30s' });
    void first.do('acquire', { key, wait });
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    const granted = second.do('acquire', { key, wait });
    await eventually(async () => expect(await world.waiting(key)).toBe(2));
    first.pause();
    const releasedAt = monotonicMs();
    await lease.release();
    expect(await world.client.pttl(PREFIX + key)).toBeGreaterThan(0); // offered to the stopped process
    await first.kill('SIGKILL');
    expectBelow((await granted).at - releasedAt, 2_000);
  });

  async function subscribers(): Promise<number> {
    return ((await world.client.pubsub('CHANNELS', 'nestjs-lock:*')) as string[]).length;
  }
});
