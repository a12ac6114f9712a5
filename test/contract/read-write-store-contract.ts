import { randomBytes } from 'node:crypto';

import type { LockKind, LockMessage, LockStore } from '../../libs/distribute-lock/src/store/lock-store.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import type { World } from './world.js';

const TTL = 20_000;
const CLAIM = 1_750;

/** A process that listens to its own store. */
interface Speaker {
  readonly store: LockStore;
  readonly received: LockMessage[];
  token(sequence: number | string, kind?: LockKind): string;
}

/** The rules of a read/write lock that every store follows. */
export function describeReadWriteStoreContract(makeWorld: () => World): void {
  const world = makeWorld();
  const [alice, bob, carol] = [speaker(), speaker(), speaker()] as const;
  let count = 0;
  let key = '';

  beforeAll(async () => {
    for (const each of [alice, bob, carol]) await listen(each);
  });
  beforeEach(() => (key = `rw-store-${(count += 1)}`));

  function speaker(): Speaker {
    const store = world.store();
    onCleanup(() => store.close());
    const id = randomBytes(16).toString('base64url');
    return { store, received: [], token: (sequence, kind) => `${id}:${sequence}${kind === 'read' ? ':r' : ''}` };
  }

  const listen = ({ store, received, token }: Speaker): Promise<boolean> =>
    store.subscribe(token('').slice(0, -1), {
      message: (message) => received.push(message),
      resubscribed: () => undefined,
    });

  const acquire = (who: Speaker, kind: LockKind, more: { wait?: boolean; ttlMs?: number; sequence?: number } = {}) =>
    who.store.acquire({
      key,
      kind,
      ownerToken: who.token(more.sequence ?? 1, kind),
      ttlMs: more.ttlMs ?? TTL,
      wait: more.wait ?? true,
      block: 1,
    });
  const release = (who: Speaker, kind: LockKind, sequence = 1) =>
    who.store.release({ key, kind, ownerToken: who.token(sequence, kind) });
  const renew = async (who: Speaker, kind: LockKind, ttlMs = TTL) =>
    (await who.store.renew([{ key, kind, ownerToken: who.token(1, kind), ttlMs }]))[0];
  const downgrade = (who: Speaker, ttlMs = TTL) =>
    who.store.downgrade!({ key, kind: 'write', ownerToken: who.token(1), readToken: who.token(2, 'read'), ttlMs });
  const hears = (who: Speaker, type: LockMessage['type'], kind: LockKind, sequence = 1) =>
    eventually(() =>
      expect(who.received).toContainEqual(
        expect.objectContaining({ type, key, ownerToken: who.token(sequence, kind) }),
      ),
    );
  const expectLeft = async (atLeast: number, atMost: number): Promise<void> => {
    const left = await world.leftMs(key);
    expect(left).toBeGreaterThan(atLeast);
    expect(left).toBeLessThanOrEqual(atMost);
  };
  const numberOf = (answer: object): number => (answer as { readonly fencingToken: number }).fencingToken;

  it('supports readers', () => {
    expect(alice.store.kinds).toEqual(new Set<LockKind>(['exclusive', 'write', 'read', 'semaphore']));
  });

  it('lets readers in together, behind one value that keeps all others out', async () => {
    expect(await acquire(alice, 'read', { ttlMs: 5_000 })).toMatchObject({ outcome: 'granted', waiting: 0 });
    expect(await acquire(bob, 'read')).toMatchObject({ outcome: 'granted', waiting: 0 });
    expect(await world.owner(key)).toBe('readers');
    for (const kind of ['write', 'exclusive'] as const) {
      const answer = await acquire(carol, kind, { wait: false });
      expect(answer).toMatchObject({ outcome: 'busy', foreign: false });
    }
    await expectLeft(TTL - 5_000, TTL);
  });

  it.each(['write', 'exclusive'] as const)('keeps readers and writers out while a %s caller holds it', async (kind) => {
    expect(await acquire(alice, kind)).toMatchObject({ outcome: 'granted' });
    expect(await world.owner(key)).toBe(alice.token(1));
    for (const other of ['read', 'write', 'exclusive'] as const) {
      expect(await acquire(bob, other, { wait: false })).toMatchObject({ outcome: 'busy', foreign: false });
    }
    expect(await release(alice, kind)).toEqual({ outcome: 'free' });
  });

  it('ends with the last lease, earlier than before when a reader leaves', async () => {
    await acquire(alice, 'read', { ttlMs: 60_000 });
    await acquire(bob, 'read', { ttlMs: 10_000 });
    await expectLeft(50_000, 60_000);
    expect(await release(alice, 'read')).toEqual({ outcome: 'passed' });
    await expectLeft(5_000, 10_000);
    expect(await release(bob, 'read')).toEqual({ outcome: 'free' });
    expect(await world.owner(key)).toBeUndefined();
  });

  it('lets a reader end and extend only its own lease', async () => {
    await acquire(alice, 'read', { ttlMs: 10_000 });
    expect(await renew(bob, 'read', 60_000)).toBe('lost');
    expect(await release(bob, 'read')).toEqual({ outcome: 'lost', resent: false });
    expect(await renew(alice, 'read', 30_000)).toBe(0);
    expect(await renew(alice, 'read', 1_000)).toBe(0);
    await expectLeft(25_000, 30_000);
    expect(await release(alice, 'read')).toEqual({ outcome: 'free' });
    expect(await release(alice, 'read')).toMatchObject({ outcome: 'lost' });
  });

  it('recognises a reader whose attempt is sent again, also at the gate', async () => {
    await acquire(alice, 'read');
    await acquire(bob, 'write');
    expect(await acquire(alice, 'read')).toMatchObject({ outcome: 'granted', waiting: 1 });
    expect(await world.waiting(key)).toBe(1);
  });

  it.each(['write', 'exclusive'] as const)('closes the gate when a %s caller waits', async (kind) => {
    await acquire(alice, 'read');
    expect(await acquire(bob, kind)).toMatchObject({ outcome: 'queued', foreign: false });
    await hears(alice, 'contended', 'read');
    const behind = await acquire(carol, 'read');
    expect(behind).toMatchObject({ outcome: 'queued', foreign: false });
    expect((behind as { readonly remainingMs: number }).remainingMs).toBeLessThanOrEqual(CLAIM);
    expect(await renew(alice, 'read')).toBe(1);

    expect(await release(alice, 'read')).toEqual({ outcome: 'passed' });
    await hears(bob, 'granted', kind);
    expect(await world.owner(key)).toBe(bob.token(1));
    await expectLeft(0, CLAIM);
    expect(await acquire(bob, kind)).toMatchObject({ outcome: 'granted', waiting: 1 });
    expect(await release(bob, kind)).toEqual({ outcome: 'passed' });
    await hears(carol, 'granted', 'read');
    expect(await world.owner(key)).toBe('readers');
  });

  it('grants the lock of a writer to all waiting readers, and closes the gate behind them for the next writer', async () => {
    await acquire(alice, 'write');
    await acquire(bob, 'write');
    await acquire(bob, 'read', { sequence: 2 });
    await acquire(carol, 'read');
    expect(await release(alice, 'write')).toEqual({ outcome: 'passed' });
    await hears(bob, 'granted', 'read', 2);
    await hears(carol, 'granted', 'read');
    await expectLeft(0, CLAIM);
    expect(await acquire(carol, 'read')).toMatchObject({ outcome: 'granted', waiting: 1 });
    expect(await acquire(alice, 'read', { sequence: 3, wait: false })).toMatchObject({ outcome: 'busy' });
    await release(carol, 'read');
    expect(await release(bob, 'read', 2)).toEqual({ outcome: 'passed' });
    await hears(bob, 'granted', 'write');
  });

  it('opens the gate when the writer has missed its heartbeats', async () => {
    await acquire(alice, 'read');
    await acquire(bob, 'write');
    expect(await acquire(carol, 'read')).toMatchObject({ outcome: 'queued' });
    await eventually(async () => expect(await acquire(carol, 'read')).toMatchObject({ outcome: 'granted' }));
    expect(await acquire(bob, 'write')).toMatchObject({ outcome: 'queued' });
    expect(await acquire(alice, 'read', { sequence: 2, wait: false })).toMatchObject({ outcome: 'busy' });
  });

  it.each(['write', 'exclusive'] as const)('opens the gate when the last %s caller leaves', async (kind) => {
    await acquire(alice, 'read');
    await acquire(alice, 'write', { sequence: 2 });
    await acquire(bob, kind);
    await acquire(carol, 'read');
    await release(alice, 'write', 2);
    expect(await world.waiting(key)).toBe(2);
    expect(await release(bob, kind)).toMatchObject({ outcome: 'lost' });
    await hears(carol, 'granted', 'read');
    expect(await world.waiting(key)).toBe(0);
    expect(await acquire(bob, 'read', { sequence: 2 })).toMatchObject({ outcome: 'granted', waiting: 0 });
  });

  it('does not restore leases that an operator deleted, although readers have started again', async () => {
    await acquire(alice, 'read', { ttlMs: 60_000 });
    await world.overwrite(key, undefined);
    expect(await renew(alice, 'read')).toBe('lost');
    expect(await acquire(bob, 'write')).toMatchObject({ outcome: 'granted' });
    expect(await renew(alice, 'read')).toBe('lost');
    await release(bob, 'write');
    await acquire(carol, 'read');
    expect(await renew(alice, 'read')).toBe('lost');
    await expectLeft(TTL - 5_000, TTL);
  });

  it('grants a free lock to the kind that waits longest', async () => {
    await acquire(alice, 'write');
    await acquire(bob, 'write');
    await acquire(carol, 'read');
    await world.overwrite(key, undefined);
    expect(await acquire(carol, 'read')).toMatchObject({ outcome: 'queued' });
    await hears(bob, 'granted', 'write');
    await release(bob, 'write');
    await acquire(alice, 'write', { sequence: 2 });
    await world.overwrite(key, undefined);
    expect(await acquire(alice, 'write', { sequence: 2 })).toMatchObject({ outcome: 'granted' });
  });

  it('joins the next attempt of a reader to the current readers, unless a writer waits', async () => {
    await acquire(alice, 'read');
    await acquire(bob, 'read');
    const next = { ownerToken: alice.token(2, 'read'), ttlMs: TTL, block: 1 };
    const joined = await alice.store.release({ key, kind: 'read', ownerToken: alice.token(1, 'read'), next });
    expect(joined).toMatchObject({ outcome: 'granted', ownerToken: next.ownerToken });
    await acquire(carol, 'write');
    const later = { ...next, ownerToken: alice.token(3, 'read') };
    const queued = await alice.store.release({ key, kind: 'read', ownerToken: next.ownerToken, next: later });
    expect(queued).toMatchObject({ outcome: 'queued' });
  });

  it('turns a writer into a reader, together with waiting readers, and never shortens its lease', async () => {
    const writer = await acquire(alice, 'write', { ttlMs: 60_000 });
    await acquire(bob, 'read');
    await acquire(carol, 'write');
    expect(await downgrade(alice, 1_000)).toBe(1);
    await hears(bob, 'granted', 'read');
    await expectLeft(50_000, 60_000);
    expect(await downgrade(alice, 1_000)).toBe(1);
    expect(await renew(alice, 'write')).toBe('taken');
    expect(await release(alice, 'write')).toMatchObject({ outcome: 'lost', taken: true });
    const reader = await acquire(bob, 'read');
    expect(numberOf(reader)).toBeGreaterThan(numberOf(writer));
    await release(bob, 'read');
    expect(await release(alice, 'read', 2)).toEqual({ outcome: 'passed' });
    expect(numberOf(await acquire(carol, 'write'))).toBeGreaterThan(numberOf(reader));
    expect(await downgrade(alice)).toBe('taken');
    expect(await world.owner(key)).toBe(carol.token(1));
  });

  it('grants a strict release to a writer of the same process, after the readers', async () => {
    const strict = { key, kind: 'exclusive', grantOwn: { ttlMs: TTL, block: 1 } } as const;
    await acquire(alice, 'exclusive');
    await acquire(alice, 'exclusive', { sequence: 2 });
    await acquire(bob, 'read');
    expect(await alice.store.release({ ...strict, ownerToken: alice.token(1) })).toEqual({ outcome: 'passed' });
    expect(await release(bob, 'read')).toEqual({ outcome: 'passed' });
    await hears(alice, 'granted', 'exclusive', 2);
    await acquire(alice, 'exclusive', { sequence: 3 });
    const granted = await alice.store.release({ ...strict, ownerToken: alice.token(2) });
    expect(granted).toMatchObject({ outcome: 'granted', ownerToken: alice.token(3) });
  });

  it('distinguishes the 27th token of a process from that of a reader', async () => {
    const ownerToken = alice.token('r');
    await alice.store.acquire({ key, ownerToken, ttlMs: TTL, wait: true, block: 1 });
    expect(await world.owner(key)).toBe(ownerToken);
    expect(await acquire(bob, 'read', { wait: false })).toMatchObject({ outcome: 'busy' });
    expect(await alice.store.release({ key, ownerToken })).toEqual({ outcome: 'free' });
  });

  it('notifies at most 128 readers of a writer', async () => {
    const before = alice.received.length;
    const readers = Array.from({ length: 140 }, (_, i) => acquire(alice, 'read', { sequence: i + 1 }));
    await Promise.all(readers);
    await acquire(bob, 'write');
    await eventually(() => expect(alice.received.length).toBe(before + 128));
    expect(await alice.store.renew([{ key, kind: 'read', ownerToken: alice.token(140, 'read'), ttlMs: TTL }])).toEqual([
      1,
    ]);
  });

  it('reports no end of its holders by a message while the key is a semaphore or a foreign client holds it', async () => {
    await world.overwrite(key, 'semaphore:3', TTL);
    for (const kind of ['read', 'write', 'exclusive'] as const) {
      expect(await acquire(alice, kind, { wait: false })).toMatchObject({ outcome: 'busy', foreign: true });
      expect(await acquire(alice, kind)).toMatchObject({ outcome: 'queued', foreign: true });
    }
    await world.overwrite(key, 'x', TTL);
    for (const kind of ['read', 'write'] as const) {
      expect(await acquire(alice, kind, { wait: false })).toMatchObject({ outcome: 'busy', foreign: true });
      expect(await acquire(alice, kind)).toMatchObject({ outcome: 'queued', foreign: true });
    }
  });
}
