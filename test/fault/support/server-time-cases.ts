import { setTimeout as sleep } from 'node:timers/promises';

import type { LockKind } from '../../../libs/distribute-lock/src/store/lock-store.js';
import { openLocks } from './lock-engine.js';
import type { Owners, ServerTimes, ServerTimeWorld } from './server-time.js';

/** A call whose server time is measured beside `entries` of live or dead processes. */
export interface ServerTimeCase {
  readonly title: string;
  readonly entries: 'live' | 'dead';
  /** The bound of the test, if it differs from that of the other cases. */
  readonly boundMs?: number;
  /** The largest useful number of entries. */
  readonly most?: number;
  run(world: ServerTimeWorld, entries: number): Promise<ServerTimes>;
}

/** A holder of `held`, with waiters of `kind` behind it. */
async function crowd(world: ServerTimeWorld, count: number, held: LockKind, kind: LockKind, owners: Owners) {
  const holder = world.token(world.live, held);
  await world.acquire(holder, { kind: held });
  const waiters = world.tokens(count, owners, kind);
  await world.all(waiters, (token) => world.acquire(token, { kind }));
  return { holder, waiters };
}

/** Releases a holder, and then repeats the attempts of a live caller that waits behind all others. */
function releaseAndServe(held: LockKind, kind: LockKind, owners: Owners): ServerTimeCase['run'] {
  return async (world, entries) => {
    const { holder } = await crowd(world, entries, held, kind, owners);
    const last = world.token(world.live, kind);
    await world.acquire(last, { kind });
    return world.timed(async () => {
      await world.release(holder, { kind: held });
      await world.untilGranted(last, { kind });
    });
  };
}

/** Does the same while all processes are live. */
function releaseLive(held: LockKind, kind: LockKind, owners: Owners): ServerTimeCase['run'] {
  return async (world, entries) => {
    await world.reviveAll();
    const { holder, waiters } = await crowd(world, entries, held, kind, owners);
    return world.timed(async () => {
      await world.release(holder, { kind: held });
      await world.each(waiters.slice(0, 100), (token) => world.acquire(token, { kind }));
      await world.each(waiters.slice(0, 100), (token) => world.release(token, { kind }));
    });
  };
}

/** Waiters leave one after the other. */
function leaving(held: LockKind, kind: LockKind): ServerTimeCase['run'] {
  return async (world, entries) => {
    await world.reviveAll();
    const { waiters } = await crowd(world, entries, held, kind, 'one');
    return world.timed(() => world.each(waiters.slice(0, 100), (token) => world.release(token, { kind })));
  };
}

/**
 * `entries` holders, of which all but one live holder end. Then that holder renews, and a new caller joins and leaves.
 */
function holders(kind: LockKind, dead: boolean, rival: LockKind): ServerTimeCase['run'] {
  return async (world, entries) => {
    await world.reviveAll();
    const permits = entries + 10;
    const holding = world.tokens(entries, 'many', kind, permits);
    const live = world.token(world.live, kind, permits);
    await world.acquire(live, { kind });
    await world.putLeases(live, holding, dead ? -1_000 : 30_000);
    return world.timed(async () => {
      await world.renew(live, kind);
      const next = world.token(world.live, kind, permits);
      await world.acquire(next, { kind });
      await world.renew(next, kind);
      const other = world.token(world.live, rival, permits);
      await world.acquire(other, { kind: rival });
      await world.release(other, { kind: rival });
      await world.release(next, { kind });
      await world.release(live, { kind });
    });
  };
}

/** Many writers of one process enter in one call, behind readers of many processes. */
async function writersBehindReaders(world: ServerTimeWorld, entries: number): Promise<ServerTimes> {
  await world.reviveAll();
  const readers = world.tokens(Math.min(entries, 1_000), 'many', 'read');
  await world.all(readers, (token) => world.acquire(token, { kind: 'read' }));
  const writers = Array.from({ length: 64 }, () => world.token(world.live, 'write'));
  return world.timed(async () => {
    await world.all(writers, (token) => world.acquire(token, { kind: 'write' }));
    await world.all(writers, (token) => world.acquire(token, { kind: 'write' }));
    await world.all(writers, (token) => world.release(token, { kind: 'write' }));
  });
}

/** Callers of one process enter together, wait for two heartbeats and leave. */
async function callersForPermits(world: ServerTimeWorld, entries: number): Promise<ServerTimes> {
  await world.acquire(world.token(world.live, 'semaphore'), { kind: 'semaphore' });
  const { engine, acquire } = openLocks(world.url, { maxWaitersPerKey: entries, maxWaiters: entries });
  const controller = new AbortController();
  const options = { kind: 'semaphore', permits: 1, wait: '60s', signal: controller.signal } as const;
  return world.timed(async () => {
    const calls = Array.from({ length: entries }, () => acquire(world.key, options));
    await sleep(2_000);
    controller.abort();
    await Promise.allSettled(calls);
    await engine.close();
  });
}

async function batchOfSeveral(world: ServerTimeWorld): Promise<ServerTimes> {
  const calls = Array.from({ length: 64 }, (_, i) =>
    Array.from({ length: 100 }, (__, k) => ({
      key: `several-${i}-${k}`,
      ownerToken: world.token(world.live),
      ttlMs: 60_000,
      wait: false,
      block: 1,
    })),
  );
  await world.store.acquireAll!(calls[0].map((request) => ({ ...request, key: `before-${request.key}` })));
  return world.timed(() => Promise.allSettled(calls.map((requests) => world.store.acquireAll!(requests))));
}

function quorum(entries: 'live' | 'dead'): ServerTimeCase['run'] {
  return async (world, count) => {
    if (entries === 'live') await world.reviveAll();
    const step = (...words: (string | number)[]) => world.node.connection.run(world.key, words, () => true);
    const holder = world.token(world.live);
    await step('a', holder, holder, 60_000, 1);
    await world.all(world.tokens(count, 'many', 'exclusive'), (token) => step('w', token, token, 60_000, 1));
    return world.timed(async () => {
      await step('d', holder, holder, '1', '-');
      const next = world.token(world.live);
      await step('w', next, next, 60_000, 1);
      await step('d', next, next, '1', '-');
    });
  };
}

async function silent(world: ServerTimeWorld, entries: number): Promise<ServerTimes> {
  const { holder } = await crowd(world, entries, 'exclusive', 'exclusive', 'many');
  await sleep(1_800);
  const last = world.token(world.live);
  await world.acquire(last);
  await world.redis.del(`lock:${world.key}`);
  return world.timed(async () => {
    await world.untilGranted(last);
    await world.release(holder);
  });
}

const owners: readonly Owners[] = ['one', 'many'];
const pairs: readonly (readonly [held: LockKind, kind: LockKind])[] = [
  ['exclusive', 'exclusive'],
  ['write', 'write'],
  ['write', 'read'],
  ['read', 'write'],
  ['semaphore', 'semaphore'],
];
const of = (who: Owners): string => (who === 'one' ? 'one process' : 'many processes');

export const serverTimeCases: readonly ServerTimeCase[] = [
  ...pairs.flatMap(([held, kind]) =>
    owners.flatMap((who): ServerTimeCase[] => [
      {
        title: `${held} released, ${kind} waiters of ${of(who)}`,
        entries: 'live',
        run: releaseLive(held, kind, who),
      },
      {
        title: `${held} released, ${kind} waiters of ${of(who)}`,
        entries: 'dead',
        run: releaseAndServe(held, kind, who),
      },
    ]),
  ),
  { title: 'exclusive lease ended, silent waiters', entries: 'dead', boundMs: 20, run: silent },
  { title: 'exclusive waiters leave', entries: 'live', run: leaving('exclusive', 'exclusive') },
  { title: 'write waiters leave a reader', entries: 'live', run: leaving('read', 'write') },
  { title: 'read waiters leave a writer', entries: 'live', run: leaving('write', 'read') },
  { title: 'semaphore waiters leave', entries: 'live', run: leaving('semaphore', 'semaphore') },
  { title: 'readers hold; renew, enter, leave', entries: 'live', run: holders('read', false, 'write') },
  { title: 'readers ended; renew, enter, leave', entries: 'dead', run: holders('read', true, 'write') },
  { title: 'permits held; renew, enter, leave', entries: 'live', run: holders('semaphore', false, 'semaphore') },
  { title: 'permits ended; renew, enter, leave', entries: 'dead', run: holders('semaphore', true, 'semaphore') },
  {
    title: '64 writers enter behind many readers',
    entries: 'live',
    boundMs: 8,
    most: 1_000,
    run: writersBehindReaders,
  },
  { title: 'callers of one process enter a semaphore, wait 2 s, leave', entries: 'live', run: callersForPermits },
  { title: '64 calls of 100 keys in one tick', entries: 'live', most: 6_400, run: batchOfSeveral },
  { title: 'quorum node, release', entries: 'live', run: quorum('live') },
  { title: 'quorum node, release', entries: 'dead', run: quorum('dead') },
];
