import { setTimeout as sleep } from 'node:timers/promises';

import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import { locksOn, PREFIX, type Locks } from './support/lock-engine.js';
import { monotonicMs } from '../support/monotonic.js';
import { storeOfTwoWays } from './support/two-ways.js';
import { useLockWorld } from './support/use-lock-world.js';

const NETWORK_BACK_MS = 2_000;
/** A command without a reply in time has been undone twice by then. */
const UNDONE_MS = 2_000;
const ttl = '30s';

describe('P6: an acquire that was not granted leaves no key behind', () => {
  const world = useLockWorld();

  /** Asserts that all keys of the lock are gone within the bound. */
  async function gone(key: string, backAt: number): Promise<void> {
    await eventually(async () => expect(await world.keysOf(key)).toEqual([]));
    expectBelow(monotonicMs() - backAt, NETWORK_BACK_MS);
  }

  /** The first command about the key, as the server received it. */
  async function firstCommandAbout(key: string): Promise<string[]> {
    const log = (await world.client.slowlog('GET', 128)) as [number, number, number, string[]][];
    // The log also has the commands inside of scripts.
    const isCall = (words: readonly string[]): boolean => /^evalsha$/i.test(words[0]) && words.includes(PREFIX + key);
    const found = log.map((entry) => entry[3]).findLast(isCall);
    if (found === undefined) throw new Error(`No command for ${key} was received`);
    return found;
  }

  it.each(['toClient', 'toServer'] as const)(
    'when nothing passes %s, and its command is executed late',
    async (direction) => {
      const proxy = await world.proxy();
      const locks = world.locks(proxy.url);
      await locks.engine.connect();
      const keys = [world.newKey(), world.newKey()];
      proxy.hold(direction);
      await Promise.all([
        expect(locks.acquire(keys[0], { ttl })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' }),
        expect(locks.acquire(keys[1], { ttl, wait: 300 })).rejects.toThrow('lock'),
      ]);
      // the first command is executed already, or will be soon
      if (direction === 'toClient') expect(await world.keysOf(keys[0])).not.toEqual([]);
      const backAt = monotonicMs();
      await proxy.resume();
      await Promise.all(keys.map((key) => gone(key, backAt)));
    },
  );

  it('when the caller left while its command was in flight', async () => {
    const proxy = await world.proxy();
    const locks = world.locks(proxy.url);
    await locks.engine.connect();
    const key = world.newKey();
    proxy.hold('toClient');
    const abort = new AbortController();
    const acquired = expect(locks.acquire(key, { ttl, signal: abort.signal })).rejects.toMatchObject({
      code: 'LOCK_ABORTED',
    });
    await eventually(async () => expect(await world.keysOf(key)).not.toEqual([]));
    abort.abort();
    await acquired;
    const backAt = monotonicMs();
    await proxy.resume();
    await gone(key, backAt);
  });

  it('when the connection broke, and its bytes arrive after the undo', async () => {
    const proxy = await world.proxy();
    const locks = world.locks(proxy.url);
    await locks.engine.connect();
    const key = world.newKey();
    await world.client.config('SET', 'slowlog-log-slower-than', '0');
    proxy.hold('toClient');
    await expect(locks.acquire(key, { ttl })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    const [command, ...args] = await firstCommandAbout(key);
    const backAt = monotonicMs();
    await proxy.resume();
    await gone(key, backAt);
    await sleep(200); // until the undos caused by the late replies are done
    // The server ignores the command past its deadline.
    const withoutDeadline = args.map((word) =>
      word.replace(/\b\d{13}\b/, (deadlineMs) => String(Number(deadlineMs) + 60_000)),
    );
    await world.client.call(command, ...withoutDeadline);
    expect(await world.keysOf(key)).not.toEqual([]);
    await gone(key, backAt);
  });

  const semaphore = { kind: 'semaphore', permits: 2 } as const;
  it.each<[string, (locks: Locks, key: string) => Promise<Lease>]>([
    ['a lock', (locks, key) => locks.acquire(key, { ttl })],
    ['a reader', (locks, key) => locks.acquire(key, { ttl, kind: 'read' })],
    ['permits', (locks, key) => locks.acquire(key, { ttl, ...semaphore })],
    ['several locks', (locks, key) => locks.acquireMultiKey([key, world.newKey()], { ttl })],
  ])('when all its undos overtook it on another connection: %s', async (_, ask) => {
    const proxy = await world.proxy();
    const locks = locksOn(storeOfTwoWays(proxy.url, world.server.url));
    onCleanup(() => locks.engine.close());
    // the server has cached the script
    await (await ask(locks, world.newKey())).release();
    const key = world.newKey();
    proxy.hold('toServer');
    await expect(ask(locks, key)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await sleep(UNDONE_MS);
    const backAt = monotonicMs();
    await proxy.resume();
    // The reply to a later command proves that the earlier command was executed.
    await (await locks.acquire(world.newKey())).release();
    await gone(key, backAt);
  });

  it('when 100 waiters gave up', async () => {
    const holder = world.locks();
    const waiter = world.locks();
    const key = world.newKey();
    const lease = await holder.acquire(key, { ttl });
    const waits = Array.from({ length: 100 }, (_, i) => waiter.acquire(key, { ttl, wait: 100 + i }));
    await Promise.all(waits.map((wait) => expect(wait).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' })));
    await eventually(async () => expect(await world.waiting(key)).toBe(0), NETWORK_BACK_MS);
    await lease.release();
    expect(await world.keysOf(key)).toEqual([]);
  });
});

describe('P7: an acquire that is sent again recognises its own token', () => {
  const world = useLockWorld();

  it.each([0, 5_000])('so a single caller whose reply was lost gets the lock, with a wait of %i ms', async (wait) => {
    const proxy = await world.proxy();
    const locks = world.locks(proxy.url);
    await locks.engine.connect();
    // subscribes first, so that only the reply to the acquire is lost
    await (await locks.acquire(world.newKey(), { wait: 1_000 })).release();
    const swallowed = proxy.swallowNextReply(/evalsha/i);
    const startedAt = monotonicMs();
    const lease = await locks.acquire(world.newKey(), { ttl, wait });
    expectBelow(monotonicMs() - startedAt, 1_000);
    await swallowed;
    expect(lease.isHeld()).toBe(true);
    await lease.release();
    expect(await world.keysOf(lease.key)).toEqual([]);
  });

  it('so a release whose reply was lost reports no loss', async () => {
    const proxy = await world.proxy();
    const locks = world.locks(proxy.url);
    const lease = await locks.acquire(world.newKey(), { ttl });
    const swallowed = proxy.swallowNextReply(/evalsha/i);
    await lease.release();
    await swallowed;
    await eventually(async () => expect(await world.keysOf(lease.key)).toEqual([]));
    await sleep(100); // a wrong report would follow the reply to the repeated release
    expect(locks.events.map(({ type }) => type)).not.toContain('lost');
  });

  it('so a renewal whose reply was lost is sent again, and the lease continues', async () => {
    const proxy = await world.proxy();
    const locks = world.locks(proxy.url);
    const ttlMs = 1_500;
    const lease = await locks.acquire(world.newKey(), { ttl: ttlMs });
    await proxy.swallowNextReply(/evalsha/i);
    await sleep(2 * ttlMs);
    expect(lease.isHeld()).toBe(true);
    await lease.release();
  });
});
