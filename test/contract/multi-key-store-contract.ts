import { randomBytes } from 'node:crypto';

import type {
  AcquireAllAnswer,
  AcquireRequest,
  LockKind,
  LockStore,
} from '../../libs/distribute-lock/src/store/lock-store.js';
import { onCleanup } from '../support/cleanup.js';
import type { World } from './world.js';

const TTL = 20_000;

/**
 * The rules of a store that acquires several locks in one step.
 * @param prefix - the prefix of the keys, optionally with a `{tag}`
 */
export function describeMultiKeyStoreContract(makeWorld: () => World, prefix = ''): void {
  const world = makeWorld();
  const store: LockStore = world.store();
  onCleanup(() => store.close());
  const [alice, bob] = [1, 2].map(() => randomBytes(16).toString('base64url'));
  let count = 0;
  const newKeys = (): string[] => {
    count += 1;
    return ['a', 'b', 'c'].map((name) => `${prefix}all-${count}-${name}`);
  };
  const tokens = (process: string): string[] => [1, 2, 3].map((n) => `${process}:${count}${n}`);
  const requests = (keys: readonly string[], process: string, ttlMs = TTL): AcquireRequest[] =>
    keys.map((key, i) => ({ key, ownerToken: tokens(process)[i], ttlMs, wait: false, block: 1 }));
  const askAll = (keys: readonly string[], process = alice, ttlMs = TTL): PromiseLike<AcquireAllAnswer> =>
    store.acquireAll!(requests(keys, process, ttlMs));
  const ask = (key: string, more: { wait?: boolean; kind?: LockKind; ownerToken?: string; permits?: number } = {}) =>
    store.acquire({ key, ownerToken: `${bob}:9`, ttlMs: TTL, wait: false, block: 1, ...more });
  const owners = (keys: readonly string[]) => Promise.all(keys.map((key) => world.owner(key)));

  it('acquires all keys if they are free, with rising fencing tokens for each', async () => {
    const keys = newKeys();
    const before = await ask(keys[1]);
    await store.release({ key: keys[1], ownerToken: `${bob}:9` });
    const answer = await askAll(keys);
    expect(await owners(keys)).toEqual(tokens(alice));
    for (const key of keys) expect(await world.leftMs(key)).toBeGreaterThan(TTL - 5_000);
    const [a, b, c] = answer.outcome === 'granted' ? answer.fencingTokens : [];
    expect([b, c]).toEqual([a + 1, a + 2]);
    expect(before).toMatchObject({ outcome: 'granted' });
    if (before.outcome === 'granted') expect(b).toBeGreaterThan(before.fencingToken);
    for (const request of requests(keys, alice)) expect(await store.release(request)).toEqual({ outcome: 'free' });
    for (const [i, key] of keys.entries()) {
      const next = await ask(key, { ownerToken: `${bob}:${10 + i}` });
      expect(next.outcome === 'granted' && next.fencingToken > a + i).toBe(true);
    }
  });

  it.each([0, 1, 2])(
    'acquires none when another owner holds number %i, and reports when that lease may end',
    async (which) => {
      const keys = newKeys();
      await ask(keys[which]);
      const answer = await askAll(keys);
      expect(answer.outcome).toBe('busy');
      if (answer.outcome === 'busy') expect(answer.remainingMs).toBeGreaterThan(TTL - 5_000);
      expect(await owners(keys)).toEqual(keys.map((_, i) => (i === which ? `${bob}:9` : undefined)));
    },
  );

  it('acquires none when one is read, a semaphore, or held by a foreign client', async () => {
    const keys = newKeys();
    const others = [
      () => ask(keys[1], { kind: 'read', ownerToken: `${bob}:9:r` }),
      () => ask(keys[1], { kind: 'semaphore', ownerToken: `${bob}:9P2:1` }),
      () => world.overwrite(keys[1], 'a foreign client', TTL),
    ];
    for (const take of others) {
      await take();
      expect(await askAll(keys)).toMatchObject({ outcome: 'busy' });
      expect((await owners(keys)).filter((owner) => owner !== undefined)).toHaveLength(1);
      await world.overwrite(keys[1], undefined);
    }
  });

  it('does not overtake a waiter, although the lock is free', async () => {
    const keys = newKeys();
    await world.overwrite(keys[2], 'a foreign client', TTL);
    expect(await ask(keys[2], { wait: true })).toMatchObject({ outcome: 'queued' });
    await world.overwrite(keys[2], undefined);
    expect(await askAll(keys)).toMatchObject({ outcome: 'busy', remainingMs: -1 });
    expect(await owners(keys)).toEqual([undefined, undefined, undefined]);
  });

  it('recognises its own tokens when the command is sent again, and never shortens a lease', async () => {
    const keys = newKeys();
    const first = await askAll(keys, alice, 60_000);
    await world.overwrite(keys[0], undefined);
    const again = await askAll(keys, alice, 1_000);
    expect([first.outcome, again.outcome]).toEqual(['granted', 'granted']);
    expect(await owners(keys)).toEqual(tokens(alice));
    expect(await world.leftMs(keys[0])).toBeLessThanOrEqual(1_000);
    for (const key of keys.slice(1)) expect(await world.leftMs(key)).toBeGreaterThan(50_000);
    expect(await askAll(keys, bob)).toMatchObject({ outcome: 'busy' });
  });
}
