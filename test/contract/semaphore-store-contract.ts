import { randomBytes } from 'node:crypto';

import type { LockMessage, LockStore } from '../../libs/distribute-lock/src/store/lock-store.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import type { World } from './world.js';

const TTL = 20_000;
const CLAIM = 1_750;
const PERMITS = 3;
const kind = 'semaphore';

/** A process that listens to its own store. */
interface Speaker {
  readonly store: LockStore;
  readonly received: LockMessage[];
  token(sequence: number, weight: number, permits?: number): string;
}

/** Options that differ from the defaults. */
interface Request {
  readonly weight?: number;
  readonly wait?: boolean;
  readonly ttlMs?: number;
  readonly permits?: number;
}

/** The rules of a semaphore that every store follows. */
export function describeSemaphoreStoreContract(makeWorld: () => World): void {
  const world = makeWorld();
  const [alice, bob, carol] = [speaker(), speaker(), speaker()] as const;
  let count = 0;
  let key = '';

  beforeAll(async () => {
    for (const { store, received, token } of [alice, bob, carol]) {
      const message = (text: LockMessage): number => received.push(text);
      await store.subscribe(token(1, 1).slice(0, 22), { message, resubscribed: () => undefined });
    }
  });
  beforeEach(() => (key = `permits-${(count += 1)}`));

  function speaker(): Speaker {
    const store = world.store();
    onCleanup(() => store.close());
    const id = randomBytes(16).toString('base64url');
    return {
      store,
      received: [],
      token: (sequence, weight, permits = PERMITS) => `${id}:${sequence}P${permits}:${weight}`,
    };
  }

  const acquire = (
    who: Speaker,
    sequence: number,
    { weight = 1, wait = true, ttlMs = TTL, permits = PERMITS }: Request = {},
  ) => who.store.acquire({ key, kind, ownerToken: who.token(sequence, weight, permits), ttlMs, wait, block: 1 });
  const release = (who: Speaker, sequence: number, weight = 1, next?: string) =>
    who.store.release({
      key,
      kind,
      ownerToken: who.token(sequence, weight),
      ...(next === undefined ? {} : { next: { ownerToken: next, ttlMs: TTL, block: 2 } }),
    });
  const renew = async (who: Speaker, sequence: number, ttlMs = TTL, weight = 1) =>
    (await who.store.renew([{ key, kind, ownerToken: who.token(sequence, weight), ttlMs }]))[0];
  const exclusive = (wait: boolean) =>
    carol.store.acquire({ key, ownerToken: carol.token(9, 1).slice(0, -'P3:1'.length), ttlMs: TTL, wait, block: 1 });
  const hears = (who: Speaker, type: LockMessage['type'], ownerToken: string) =>
    eventually(() => {
      expect(who.received).toContainEqual(expect.objectContaining({ type, key, ownerToken }));
    });
  const granted = { outcome: 'granted' };
  const queued = { outcome: 'queued', foreign: false };
  const busy = { outcome: 'busy', foreign: false };
  const lost = { outcome: 'lost' };

  it('issues more fencing tokens to a present holder and changes nothing else', async () => {
    const tokens: unknown[] = [];
    for (const ttlMs of [TTL, 1]) {
      const answer = await acquire(alice, 1, { ttlMs, wait: false });
      if (answer.outcome === 'granted') tokens.push(answer.fencingToken);
    }
    expect(tokens).toHaveLength(2);
    expect(tokens[1]).toBeGreaterThan(tokens[0] as number);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await renew(alice, 1)).toBe(0);
    expect(await acquire(bob, 2, { weight: 3, wait: false })).toMatchObject({ outcome: 'busy' });
    await release(alice, 1);
  });

  it('reports whether a place of another process is directly before a new place', async () => {
    await acquire(alice, 1, { weight: 3 });
    const adjacent: unknown[] = [];
    const waiting = [[bob, 2] as const, [bob, 3] as const, [carol, 4] as const, [bob, 5] as const];
    for (const [who, sequence] of waiting) adjacent.push(await acquire(who, sequence));
    adjacent.push(await acquire(bob, 3));
    expect(adjacent).toMatchObject([true, true, false, false, false].map((each) => ({ adjacent: each })));
    for (const [who, sequence] of waiting) await release(who, sequence);
    await release(alice, 1, 3);
  });

  it('supports semaphores', () => expect(alice.store.kinds).toContain('semaphore'));

  it('grants as many permits as there are, behind a value that contains their number', async () => {
    expect(await acquire(alice, 1, { weight: 2 })).toMatchObject({ ...granted, waiting: 0 });
    expect(await acquire(bob, 1)).toMatchObject(granted);
    expect(await world.owner(key)).toBe('semaphore:3');
    expect(await acquire(carol, 1, { wait: false })).toMatchObject(busy);
    expect(await release(bob, 1)).toEqual({ outcome: 'free' });
    expect(await acquire(carol, 2, { wait: false })).toMatchObject(granted);
    await release(carol, 2);
    expect(await release(alice, 1, 2)).toEqual({ outcome: 'free' });
    expect(await world.owner(key)).toBeUndefined();
  });

  it('ends with the last lease, independent of the order of grants', async () => {
    await acquire(alice, 1, { ttlMs: 60_000 });
    await acquire(bob, 1);
    expect(await world.leftMs(key)).toBeGreaterThan(50_000);
    await release(alice, 1);
    expect(await world.leftMs(key)).toBeLessThanOrEqual(TTL);
    await release(bob, 1);
  });

  it('recognises its own token when a command is sent again, and never shortens a lease', async () => {
    await acquire(alice, 1, { weight: 3, ttlMs: 60_000 });
    expect(await acquire(alice, 1, { weight: 3, ttlMs: 1_000 })).toMatchObject(granted);
    expect(await renew(alice, 1, 1_000, 3)).toBe(0);
    expect(await world.leftMs(key)).toBeGreaterThan(50_000);
    expect(await release(alice, 1, 3)).toEqual({ outcome: 'free' });
    expect(await release(alice, 1, 3)).toMatchObject(lost);
  });

  it('renews one lease and no other, and none that does not exist', async () => {
    await acquire(alice, 1, { ttlMs: 80 });
    await acquire(bob, 1);
    expect(await renew(carol, 1)).toBe('lost');
    await eventually(async () => {
      expect(await renew(bob, 1)).toBe(0);
      expect(await acquire(carol, 1, { weight: 2, wait: false })).toMatchObject(granted);
    });
    expect(await renew(alice, 1)).toBe('lost');
    await release(carol, 1, 2);
    await release(bob, 1);
    expect(await renew(bob, 1)).toBe('lost');
    expect(await world.owner(key)).toBeUndefined();
  });

  it('gets the permits of an ended lease back, and does not count them twice when its holder releases late', async () => {
    await acquire(alice, 1, { weight: 2, ttlMs: 60 });
    await acquire(bob, 1);
    await eventually(async () => expect(await acquire(carol, 1, { weight: 2 })).toMatchObject(granted));
    expect(await release(alice, 1, 2)).toMatchObject(lost);
    expect(await acquire(alice, 2, { wait: false })).toMatchObject(busy);
    for (const [who, weight] of [
      [carol, 2],
      [bob, 1],
    ] as const)
      await release(who, 1, weight);
  });

  it('lets no caller overtake a head of the queue that does not fit', async () => {
    await acquire(alice, 1);
    expect(await acquire(bob, 1, { weight: 3 })).toMatchObject(queued);
    expect(await acquire(carol, 1, { wait: false })).toMatchObject(busy);
    expect(await acquire(carol, 1)).toMatchObject(queued);
    expect(await release(alice, 1)).toEqual({ outcome: 'free' });
    await hears(bob, 'granted', bob.token(1, 3));
    expect(await acquire(bob, 1, { weight: 3 })).toMatchObject({ ...granted, waiting: 1 });
    await release(bob, 1, 3);
    await hears(carol, 'granted', carol.token(1, 1));
    await release(carol, 1);
  });

  it('makes offers to as many heads as fit, and an offer takes its permits', async () => {
    await acquire(alice, 1, { weight: 3 });
    await acquire(bob, 1);
    await acquire(carol, 1, { weight: 2 });
    await release(alice, 1, 3);
    await hears(bob, 'granted', bob.token(1, 1));
    await hears(carol, 'granted', carol.token(1, 2));
    expect(await acquire(alice, 2, { wait: false })).toMatchObject(busy);
    const left = await world.leftMs(key);
    expect(left).toBeLessThanOrEqual(CLAIM);
    await release(bob, 1);
    await release(carol, 1, 2);
  });

  it('serves the callers behind a heavy head that leaves', async () => {
    await acquire(alice, 1);
    await acquire(bob, 1, { weight: 3 });
    await acquire(carol, 1);
    expect(await release(bob, 1, 3)).toMatchObject(lost);
    await hears(carol, 'granted', carol.token(1, 1));
    await release(carol, 1);
    await release(alice, 1);
  });

  it('removes a head that has missed its heartbeats for a claim window', async () => {
    await acquire(alice, 1);
    await acquire(bob, 1, { weight: 3 });
    const answer = await acquire(carol, 1);
    expect(answer).toMatchObject(queued);
    expect(answer.outcome === 'queued' && answer.remainingMs).toBeLessThanOrEqual(CLAIM);
    await eventually(async () => expect(await acquire(carol, 1)).toMatchObject(granted), 10_000);
    expect(await acquire(bob, 1, { weight: 3 })).toMatchObject(queued);
    await release(bob, 1, 3);
    await release(carol, 1);
    await release(alice, 1);
  }, 20_000);

  it('offers permits for a short time to a head that receives no message, and wakes the next process', async () => {
    if (!world.counted) return;
    await acquire(alice, 1, { weight: 3 });
    const gone = `${randomBytes(16).toString('base64url')}:1P3:3`;
    await alice.store.acquire({ key, kind, ownerToken: gone, ttlMs: TTL, wait: true, block: 1 });
    await acquire(bob, 1);
    await release(alice, 1, 3);
    expect(await world.leftMs(key)).toBeLessThanOrEqual(150);
    await hears(bob, 'granted', bob.token(1, 1));
    expect(await acquire(bob, 1)).toMatchObject(queued);
    await eventually(async () => expect(await acquire(bob, 1)).toMatchObject(granted), 1_000);
    await release(bob, 1);
  });

  describe('with callers that know different numbers of permits', () => {
    const five = (who: Speaker, sequence: number, request: Request = {}) =>
      acquire(who, sequence, { ...request, permits: 5 });
    const two = (who: Speaker, sequence: number, request: Request = {}) =>
      acquire(who, sequence, { ...request, permits: 2 });
    const leave = (who: Speaker, sequence: number, permits: number, weight = 1) =>
      who.store.release({ key, kind, ownerToken: who.token(sequence, weight, permits) });

    it('admits each within its own number, and never more than the largest in all', async () => {
      await acquire(alice, 1, { weight: 3 });
      expect(await five(bob, 1, { weight: 3, wait: false })).toMatchObject(busy);
      expect(await five(bob, 2, { weight: 2 })).toMatchObject(granted);
      expect(await world.owner(key)).toBe('semaphore:5');
      expect(await five(carol, 1, { wait: false })).toMatchObject(busy);
      await release(alice, 1, 3);
      for (const other of [two, acquire]) expect(await other(alice, 2, { wait: false, weight: 2 })).toMatchObject(busy);
      expect(await acquire(alice, 3)).toMatchObject(granted);
      expect(await world.owner(key)).toBe('semaphore:3');
      expect(await five(carol, 2, { weight: 2 })).toMatchObject(granted);
      await release(alice, 3);
      await leave(bob, 2, 5, 2);
      await leave(carol, 2, 5, 2);
      expect(await world.owner(key)).toBeUndefined();
    });

    it('lets a waiter with a smaller number block those behind it until it fits', async () => {
      await acquire(alice, 1, { weight: 3 });
      expect(await two(bob, 1)).toMatchObject(queued);
      expect(await five(carol, 1)).toMatchObject(queued);
      expect(await release(alice, 1, 3)).toEqual({ outcome: 'free' });
      await hears(bob, 'granted', bob.token(1, 1, 2));
      await hears(carol, 'granted', carol.token(1, 1, 5));
      expect(await two(alice, 2, { wait: false })).toMatchObject(busy);
      await leave(bob, 1, 2);
      await leave(carol, 1, 5);
    });

    it('keeps the longest lease when the number at the key changes', async () => {
      await acquire(alice, 1, { ttlMs: 60_000 });
      await five(bob, 1);
      expect(await world.leftMs(key)).toBeGreaterThan(50_000);
      await release(alice, 1);
      await leave(bob, 1, 5);
    });
  });

  it('serves other waiters when an offer is claimed', async () => {
    await acquire(alice, 1, { weight: 3 });
    await acquire(bob, 1);
    await release(alice, 1, 3);
    await acquire(carol, 1, { weight: 3 });
    await acquire(alice, 2, { weight: 3 });
    await release(carol, 1, 3);
    expect(await acquire(bob, 1)).toMatchObject({ ...granted, waiting: 1 });
    await release(bob, 1);
    await hears(alice, 'granted', alice.token(2, 3));
    await release(alice, 2, 3);
  });

  it('notifies each other process that holds once, and does not count its own attempt as contention', async () => {
    await acquire(alice, 1);
    await acquire(alice, 2);
    await acquire(bob, 1);
    expect(await acquire(bob, 2, { weight: 2 })).toMatchObject(queued);
    await eventually(() => expect(warnings(alice)).toHaveLength(1));
    expect(warnings(bob)).toHaveLength(0);
    expect([await renew(alice, 1), await renew(bob, 1)]).toEqual([1, 0]);
    await release(bob, 2, 2);
    expect(await renew(alice, 1)).toBe(0);
    for (const [who, sequence] of [
      [alice, 1],
      [alice, 2],
      [bob, 1],
    ] as const)
      await release(who, sequence);
  });

  const warnings = ({ received }: Speaker): LockMessage[] =>
    received.filter((message) => message.type === 'contended' && message.key === key);

  it('grants or queues the next attempt with the release', async () => {
    await acquire(alice, 1, { weight: 2 });
    const next = alice.token(2, 3);
    const answer = await release(alice, 1, 2, next);
    expect(answer).toMatchObject({ ...granted, ownerToken: next, waiting: 0 });
    expect(await release(alice, 1, 2, next)).toMatchObject(lost);
    await acquire(bob, 1);
    expect(await release(alice, 2, 3, alice.token(3, 3))).toMatchObject({ outcome: 'queued' });
    await hears(bob, 'granted', bob.token(1, 1));
    await release(alice, 3, 3);
    await release(bob, 1);
    expect(await world.owner(key)).toBeUndefined();
  });

  it('grants a next attempt that has permits already, and does not count them twice', async () => {
    await acquire(alice, 1);
    await acquire(alice, 2);
    const next = alice.token(2, 1);
    expect(await release(alice, 1, 1, next)).toMatchObject({ ...granted, ownerToken: next });
    expect(await release(alice, 1, 1, next)).toMatchObject(lost);
    expect(await acquire(bob, 1, { weight: 2, wait: false })).toMatchObject(granted);
    await release(bob, 1, 2);
    await release(alice, 2);
    expect(await world.owner(key)).toBeUndefined();
  });

  it('makes exclusive callers wait, and waits for them, as behind a foreign holder', async () => {
    const foreign = { foreign: true };
    await acquire(alice, 1);
    expect(await exclusive(false)).toMatchObject({ ...busy, ...foreign });
    expect(await exclusive(true)).toMatchObject({ ...queued, ...foreign });
    await release(alice, 1);
    expect(await exclusive(true)).toMatchObject(granted);
    expect(await acquire(alice, 2, { wait: false })).toMatchObject({ ...busy, ...foreign });
    for (const sequence of [2, 3, 2]) expect(await acquire(alice, sequence)).toMatchObject({ ...queued, ...foreign });
    expect(await release(alice, 2)).toMatchObject(lost);
    await world.overwrite(key, 'x', TTL);
    const answer = await acquire(alice, 3);
    expect(answer).toMatchObject({ ...queued, ...foreign });
    expect(answer.outcome === 'queued' && answer.remainingMs).toBeGreaterThan(TTL - 5_000);
    await world.overwrite(key, undefined);
    // The waiters kept their order.
    expect(await acquire(bob, 1, { weight: 3 })).toMatchObject(queued);
    await hears(alice, 'granted', alice.token(3, 1));
    await release(bob, 1, 3);
    await release(alice, 3);
  });

  it('forgets every holder when its key was deleted by hand, and restores no lease', async () => {
    await acquire(alice, 1, { weight: 3 });
    await world.overwrite(key, undefined);
    expect(await acquire(bob, 1, { weight: 2 })).toMatchObject(granted);
    expect(await renew(alice, 1, TTL, 3)).toBe('lost');
    expect(await release(alice, 1, 3)).toMatchObject(lost);
    expect(await acquire(carol, 1)).toMatchObject(granted);
    await release(bob, 1, 2);
    await release(carol, 1);
  });

  it('issues fencing tokens that rise from grant to grant', async () => {
    const numbers: number[] = [];
    for (const sequence of [1, 2, 3]) {
      const answer = await acquire(alice, sequence);
      if (answer.outcome === 'granted') numbers.push(answer.fencingToken);
    }
    expect(numbers).toHaveLength(3);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    for (const sequence of [1, 2, 3]) await release(alice, sequence);
  });

  it('leaves no key behind', async () => expect(await world.leftovers()).toEqual([]));
}
