import { setTimeout as sleep } from 'node:timers/promises';

import type { AcquireOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { eventually } from '../support/eventually.js';
import { monotonicMs } from '../support/monotonic.js';
import type { FaultProxy } from '../support/proxy/fault-proxy.js';
import { StallWatch } from '../support/stall-watch.js';
import { expectBelow } from './support/bound.js';
import { PREFIX } from './support/lock-engine.js';
import type { LockProcess } from './support/lock-process.js';
import { useLockWorld } from './support/use-lock-world.js';

const wait = '20s';
/** P8 */
const LATER_MS = 1_000;
/** A command that gives a lease to another owner token. */
const MOVE = / m [\w-]{22}:\w+ \d+ [\w-]{22}:/;
const SEMAPHORE = { kind: 'semaphore', permits: 1 } as const;

/** The replies of the connection that sends the next move wait from now on. */
function holdReplyToMove(proxy: FaultProxy): Promise<void> {
  return new Promise((resolve) => {
    proxy.onRequest = (request) => {
      if (!MOVE.test(request)) return;
      proxy.onRequest = () => {};
      for (const connection of proxy.open('commands')) connection.holdReplies();
      resolve();
    };
  });
}

describe('P32: a ticket of a process that crashes', () => {
  const world = useLockWorld();

  async function detached(ttl: number, options: AcquireOptions = {}) {
    const process = await world.process();
    const key = world.newKey();
    const first = await process.do('acquire', { key, ttl, ...options });
    const { ticket, at } = await process.do('detach', { lease: first.lease, ttl });
    return { process, key, first, ticket, at };
  }

  it.each<[string, AcquireOptions]>([
    ['exclusive', {}],
    ['semaphore', SEMAPHORE],
  ])('works in another process when the first one crashes after detach(): %s', async (_, options) => {
    const other = await world.process();
    const { process, first, key, ticket } = await detached(30_000, options);
    await process.kill('SIGKILL');
    await expect(other.do('acquire', { key, ...options })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    const next = await other.do('attach', { ticket });
    expect(next.fencingToken).toBeGreaterThan(first.fencingToken);
    await other.do('release', next);
    await eventually(async () => expect(await world.keysOf(key)).toEqual([]));
  });

  it('never outlasts maxHold of its lease', async () => {
    const process = await world.process();
    const key = world.newKey();
    const { lease } = await process.do('acquire', { key, maxHold: '10s' });
    await expect(process.do('detach', { lease, ttl: '11s' })).rejects.toMatchObject({ code: 'LOCK_USAGE' });
    await process.do('detach', { lease, ttl: '9s' });
    await process.kill('SIGKILL');
    expect(await world.client.pttl(PREFIX + key)).toBeLessThanOrEqual(9_000);
  });

  it.each<[string, AcquireOptions]>([
    ['exclusive', {}],
    ['semaphore', SEMAPHORE],
  ])('blocks the next waiter no longer than its ttl after a crash behind attach(): %s', async (_, options) => {
    const ttl = 2_000;
    const [crashing, waiter] = await Promise.all([world.process(), world.process()]);
    const { key, ticket } = await detached(30_000, options);
    const next = await crashing.do('attach', { ticket, ttl });
    const granted = waiter.do('acquire', { key, wait, ...options });
    await sleep(100);
    const stalls = new StallWatch();
    const killedAt = monotonicMs();
    await crashing.kill('SIGKILL');
    const { at, fencingToken } = await granted;
    expectBelow(at - killedAt, ttl + LATER_MS + stalls.stop());
    expect(fencingToken).toBeGreaterThan(next.fencingToken);
    await expect(waiter.do('attach', { ticket })).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'used' });
  });

  it('is used, and blocks the next waiter no longer than its ttl, after a crash before the reply to attach()', async () => {
    const ttl = 2_000;
    const proxy = await world.proxy();
    const [crashing, waiter] = await Promise.all([world.process(proxy.url), world.process()]);
    const { key, ticket } = await detached(30_000);
    const moved = holdReplyToMove(proxy);
    void crashing.do('attach', { ticket, ttl });
    await moved;
    await eventually(async () => expect(await world.owner(key)).not.toMatch(/:00$/));
    const granted = waiter.do('acquire', { key, wait });
    await expect(waiter.do('attach', { ticket })).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'used' });
    const stalls = new StallWatch();
    const killedAt = monotonicMs();
    await crashing.kill('SIGKILL');
    expectBelow((await granted).at - killedAt, ttl + LATER_MS + stalls.stop());
  });

  it.each<[string, AcquireOptions, 'before' | 'after']>([
    ['an exclusive lock, from before detach() on', {}, 'before'],
    ['an exclusive lock, from after detach() on', {}, 'after'],
    ['a permit, from before detach() on', SEMAPHORE, 'before'],
    ['a permit, from after detach() on', SEMAPHORE, 'after'],
  ])('expires, and a waiter of another process gets it within the bound of a crash: %s', async (...args) => {
    const [, options, from] = args;
    const ttl = 1_500;
    const [process, waiter] = await Promise.all([world.process(), world.process()]);
    const key = world.newKey();
    const first = await process.do('acquire', { key, ttl: 30_000, ...options });
    const acquire = (): ReturnType<LockProcess['do']> => waiter.do('acquire', { key, wait, ...options });
    const early = from === 'before' ? acquire() : undefined;
    await sleep(200);
    const stalls = new StallWatch();
    const { ticket, from: leftAt, at: detachedAt } = await process.do('detach', { lease: first.lease, ttl });
    const { at, fencingToken } = (await (early ?? acquire())) as { at: number; fencingToken: number };
    expect(at).toBeGreaterThan(leftAt + ttl - 1);
    expectBelow(at - detachedAt, ttl + LATER_MS + stalls.stop());
    expect(fencingToken).toBeGreaterThan(first.fencingToken);
    await expect(process.do('attach', { ticket })).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'expired' });
  });
});

describe('P32: a process whose event loop stands still between the move of attach() and its reply', () => {
  const world = useLockWorld();

  /** Attaches a ticket, and blocks the event loop while the reply is under way. */
  async function attachBlocked(ttl: number, ms: number) {
    const proxy = await world.proxy();
    const [from, slow, other] = await Promise.all([world.process(), world.process(proxy.url), world.process()]);
    const key = world.newKey();
    const first = await from.do('acquire', { key });
    const { ticket } = await from.do('detach', { lease: first.lease, ttl: '30s' });
    const moved = holdReplyToMove(proxy);
    const attached = slow.do('attach', { ticket, ttl });
    attached.catch(() => undefined);
    await moved;
    const still = slow.do('standStill', { ms });
    await slow.printed('blocked');
    await proxy.resume();
    return { key, first, ticket, slow, other, attached, still };
  }

  it('for longer than the ttl, begins no hold, while a waiter of another process holds the lock', async () => {
    const ttl = 1_000;
    const { key, first, other, attached, still } = await attachBlocked(ttl, 2_500);
    const waiting = other.do('acquire', { key, ttl: '30s', wait });
    await still;
    const next = await waiting;
    await expect(attached).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'expired' });
    expect(next.fencingToken).toBeGreaterThan(first.fencingToken);
    expect(await other.do('isHeld', next)).toMatchObject({ held: true });
    await other.do('release', next);
    await eventually(async () => expect(await world.keysOf(key)).toEqual([]));
  });

  it('for longer than the ttl, begins no hold of an expired lease, and leaves the key free', async () => {
    const { key, other, ticket, attached, still } = await attachBlocked(1_000, 2_500);
    await still;
    await expect(attached).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'expired' });
    await expect(other.do('attach', { ticket })).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'used' });
    const next = await other.do('acquire', { key });
    await other.do('release', next);
  });

  it('for half of the ttl, gets the lease with two thirds of its ttl left', async () => {
    const ttl = 6_000;
    const { slow, key, attached, still } = await attachBlocked(ttl, 3_000);
    await still;
    const lease = await attached;
    expect(await slow.do('isHeld', lease)).toMatchObject({ held: true });
    expect(await world.client.pttl(PREFIX + key)).toBeGreaterThan((ttl * 2) / 3 - LATER_MS);
    await slow.do('release', lease);
  });
});

describe('P32: a ticket whose lease Redis has lost', () => {
  const world = useLockWorld();

  it.each<[string, () => Promise<unknown>]>([
    ['in a restart without data', () => world.server.restart({ empty: true })],
    ['in a FLUSHALL', () => world.client.flushall()],
  ])('is refused, and the next holder keeps its lease: %s', async (_, lose) => {
    const [from, other] = await Promise.all([world.process(), world.process()]);
    const key = world.newKey();
    const first = await from.do('acquire', { key });
    const { ticket } = await from.do('detach', { lease: first.lease, ttl: '30s' });
    await lose();
    const next = await other.do('acquire', { key, wait });
    expect(next.fencingToken).toBeGreaterThan(first.fencingToken);
    const refused = { code: 'LEASE_LOST', reason: 'expired' };
    await expect(from.do('attach', { ticket })).rejects.toMatchObject(refused);
    await expect(other.do('attach', { ticket })).rejects.toMatchObject(refused);
    expect(await from.do('cancel', { ticket })).toMatchObject({ cancelled: false });
    expect(await other.do('isHeld', next)).toMatchObject({ held: true });
    await other.do('release', next);
  });
});
