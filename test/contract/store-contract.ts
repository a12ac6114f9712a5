import { randomBytes } from 'node:crypto';

import { StoreContract } from 'nestjs-distribute-lock/testing/contract';

import type { LockMessage, LockStore } from '../../libs/distribute-lock/src/store/lock-store.js';
import { eventually } from '../support/eventually.js';
import { onCleanup } from '../support/cleanup.js';
import { describeRules } from './kit/describe-rules.js';
import { describeMessagesContract } from './messages-contract.js';
import type { World } from './world.js';

const newProcess = (): string => randomBytes(16).toString('base64url');
const TTL = 20_000;

/**
 * The rules that every {@link LockStore} follows. Some are published; the others read the data of the server, or depend on
 * the order of messages.
 */
export function describeStoreContract(makeWorld: () => World): void {
  const world = makeWorld();
  describe('by the published rules', () =>
    describeRules(
      new StoreContract({ open: () => world.store() }),
      (feature) => world.lacks?.includes(feature) !== true,
    ));
  const store: LockStore = world.store();
  onCleanup(() => store.close());
  const alice = `${newProcess()}:1`;
  const bob = `${newProcess()}:1`;
  let count = 0;
  // Several contracts may run on one server.
  const run = newProcess().slice(0, 6);
  const newKey = (): string => `store-${run}-${(count += 1)}`;
  const ask = (key: string, ownerToken: string, more: { wait?: boolean; ttlMs?: number; block?: number } = {}) =>
    store.acquire({ key, ownerToken, ttlMs: TTL, wait: false, block: 1, ...more });

  it('grants a free lock, as a plain string with a TTL', async () => {
    const key = newKey();
    expect(await ask(key, alice)).toMatchObject({ outcome: 'granted', waiting: 0 });
    expect(await world.owner(key)).toBe(alice);
    expect(await world.leftMs(key)).toBeGreaterThan(TTL - 5_000);
    expect(await world.leftMs(key)).toBeLessThanOrEqual(TTL);
  });

  it('refuses a lock that another owner holds, and leaves no key behind', async () => {
    const key = newKey();
    await ask(key, alice);
    const answer = await ask(key, bob);
    expect(answer).toMatchObject({ outcome: 'busy', foreign: false });
    expect(await store.release({ key, ownerToken: alice })).toEqual({ outcome: 'free' });
    expect(await world.owner(key)).toBeUndefined();
  });

  it('does not affect the new holder when a late release arrives', async () => {
    const key = newKey();
    await ask(key, alice);
    await world.overwrite(key, undefined);
    await ask(key, bob);
    expect(await store.release({ key, ownerToken: alice })).toMatchObject({ outcome: 'lost' });
    expect(await store.renew([{ key, ownerToken: bob, ttlMs: TTL }])).toEqual([0]);
  });

  it('does not restore a lost lease by a renewal', async () => {
    const key = newKey();
    await ask(key, alice);
    await world.overwrite(key, undefined);
    expect(await store.renew([{ key, ownerToken: alice, ttlMs: TTL }])).toEqual(['lost']);
    expect(await world.owner(key)).toBeUndefined();
  });

  it('is excluded by a foreign holder, and reports that it is foreign', async () => {
    const key = newKey();
    await world.overwrite(key, 'x', 30_000);
    expect(await ask(key, alice)).toMatchObject({ outcome: 'busy', foreign: true });
    expect(await ask(key, alice, { wait: true })).toMatchObject({ outcome: 'queued', foreign: true });
    await world.overwrite(key, undefined);
    expect(await ask(key, alice, { wait: true })).toMatchObject({ outcome: 'granted', waiting: 0 });
  });

  it('reports an unknown end when a foreign holder set no TTL', async () => {
    const key = newKey();
    await world.overwrite(key, 'x');
    expect(await ask(key, alice)).toMatchObject({ outcome: 'busy', remainingMs: -1 });
  });

  const handOver = (): void => {
    const listen = async (processId: string) => {
      const messages: LockMessage[] = [];
      await store.subscribe(processId, { message: (message) => messages.push(message), resubscribed: () => undefined });
      return messages;
    };

    it('notifies the holder of a waiter, and hands the lock over in the release', async () => {
      const key = newKey();
      const [holder, waiter] = [newProcess(), newProcess()];
      const second = world.store();
      onCleanup(() => second.close());
      const toHolder = await listen(holder);
      const toWaiter: LockMessage[] = [];
      await second.subscribe(waiter, { message: (m) => toWaiter.push(m), resubscribed: () => undefined });

      await ask(key, `${holder}:1`);
      expect(await second.acquire({ key, ownerToken: `${waiter}:1`, ttlMs: TTL, wait: true, block: 1 })).toMatchObject({
        outcome: 'queued',
        foreign: false,
      });
      await eventually(() => expect(toHolder).toEqual([{ type: 'contended', key, ownerToken: `${holder}:1` }]));

      expect(await store.release({ key, ownerToken: `${holder}:1` })).toEqual({ outcome: 'passed' });
      expect(await world.owner(key)).toBe(`${waiter}:1`);
      expect(await world.leftMs(key)).toBeLessThanOrEqual(1_750);
      await eventually(() => expect(toWaiter).toMatchObject([{ type: 'granted', key, ownerToken: `${waiter}:1` }]));

      await second.acquire({ key, ownerToken: `${waiter}:1`, ttlMs: TTL, wait: true, block: 1 });
      expect(await world.leftMs(key)).toBeGreaterThan(5_000);
      await second.release({ key, ownerToken: `${waiter}:1` });
    });

    it('offers the lock for a short time to a waiter that receives no message, and wakes the next one', async () => {
      const key = newKey();
      const next = newProcess();
      const toNext = await listen(next);
      const silent = `${newProcess()}:1`;
      await ask(key, alice);
      for (const ownerToken of [silent, `${next}:1`]) {
        expect(await ask(key, ownerToken, { wait: true })).toMatchObject({ outcome: 'queued' });
      }
      expect(await store.release({ key, ownerToken: alice })).toEqual({ outcome: 'passed' });
      expect(await world.owner(key)).toBe(silent);
      // Without a count of subscribers, the offer delays the others by one claim window.
      expect(await world.leftMs(key)).toBeLessThanOrEqual(world.counted ? 150 : 1_750);
      if (world.counted) await eventually(() => expect(toNext).toMatchObject([{ type: 'granted', key }]));
      expect(await ask(key, silent)).toMatchObject({ outcome: 'granted' });
      await store.release({ key, ownerToken: silent });
    });

    it('offers a free lock to the head of the queue instead of a new caller', async () => {
      const key = newKey();
      const waiter = newProcess();
      await listen(waiter);
      await ask(key, alice);
      await ask(key, `${waiter}:1`, { wait: true });
      await world.overwrite(key, undefined);
      expect(await ask(key, bob)).toMatchObject({ outcome: 'busy' });
      expect(await world.owner(key)).toBe(`${waiter}:1`);
      await store.release({ key, ownerToken: `${waiter}:1` });
    });

    it('queues the next attempt of the releaser behind the waiters', async () => {
      const key = newKey();
      const [holder, waiter] = [newProcess(), newProcess()];
      await listen(holder);
      await listen(waiter);
      await ask(key, `${holder}:1`);
      await ask(key, `${waiter}:1`, { wait: true });
      const next = { ownerToken: `${holder}:2`, ttlMs: TTL, block: 5 };
      expect(await store.release({ key, ownerToken: `${holder}:1`, next })).toMatchObject({ outcome: 'queued' });
      expect(await world.owner(key)).toBe(`${waiter}:1`);
      expect(await store.release({ key, ownerToken: `${waiter}:1` })).toEqual({ outcome: 'passed' });
      expect(await world.owner(key)).toBe(`${holder}:2`);
      await store.release({ key, ownerToken: `${holder}:2` });
    });

    it('grants the next attempt at once without other waiters', async () => {
      const key = newKey();
      await ask(key, alice);
      const next = { ownerToken: bob, ttlMs: TTL, block: 5 };
      expect(await store.release({ key, ownerToken: alice, next })).toMatchObject({
        outcome: 'granted',
        ownerToken: bob,
      });
      expect(await store.release({ key, ownerToken: alice, next })).toMatchObject({ outcome: 'lost' });
      expect(await world.owner(key)).toBe(bob);
      await store.release({ key, ownerToken: bob });
    });
  };
  describe('with a process that listens', world.handsOver === false ? () => describeMessagesContract(world) : handOver);

  it('leaves no key behind without a holder', async () => {
    for (const key of await world.leftovers()) await world.overwrite(key, undefined);
    expect(await world.leftovers()).toEqual([]);
  });
}
