import { hostname } from 'node:os';

import type { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import type { LockOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { Locks } from '../../libs/distribute-lock/src/locks/locks.js';
import { LockService } from '../../libs/distribute-lock/src/nest/lock.service.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startProcess, type Process, type World } from './world.js';

/** Inspecting and revoking locks. */
export function describeInspectingContract(makeWorld: () => World): void {
  const world = makeWorld();
  const start = (): Process & { locks: Locks } => {
    const process = startProcess(world);
    const door = world.byCreateLocks === true ? Locks : LockService;
    return { ...process, locks: new door(() => process.engine) };
  };
  const here = start();
  const there = start();
  let count = 0;
  const newKey = (): string => `seen-${(count += 1)}`;

  it('reports a free lock', async () => {
    const key = newKey();
    const free = { key, held: false, kind: 'free', holders: [], remainingMs: 0, waiting: 0 };
    expect(await here.locks.inspect(key)).toEqual(free);
  });

  it('reports the holders and the number of waiting processes, and no owner token', async () => {
    const key = newKey();
    const lease = await here.acquire(key, { ttl: '20s' });
    const waiting = there.acquire(key, { wait: '20s' });
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    const seen = await here.locks.inspect(key);
    const fromThere = await there.locks.inspect(key);
    expect(seen).toMatchObject({ key, held: true, kind: 'exclusive', waiting: 1 });
    expect(seen.holders).toMatchObject([{ here: true, names: ['contract'] }]);
    expect(fromThere.holders).toEqual([
      {
        process: seen.holders[0]?.process,
        here: false,
        host: hostname(),
        pid: process.pid,
        application: expect.any(String),
        names: ['contract'],
        holds: [{ name: 'contract', heldMs: expect.any(Number), fencingToken: lease.fencingToken }],
      },
    ]);
    expect(seen.remainingMs).toBeGreaterThan(15_000);
    expect(seen.remainingMs).toBeLessThanOrEqual(20_000);
    expect(JSON.stringify([seen, fromThere])).not.toContain(lease.grant.ownerToken.slice(0, 22));
    await lease.release();
    await (await waiting).release();
  });

  it('reports readers, permits and foreign holders', async () => {
    const key = newKey();
    const readers = [await here.acquire(key, { kind: 'read' }), await there.acquire(key, { kind: 'read' })];
    const reading = await here.locks.inspect(key);
    expect(reading).toMatchObject({ held: true, kind: 'read', waiting: 0 });
    expect(new Set(reading.holders.map((holder) => holder.here))).toEqual(new Set([false, true]));
    for (const lease of readers) await lease.release();

    const permit = await there.acquire(key, { kind: 'semaphore', permits: 3, weight: 2 });
    const semaphore = await here.locks.inspect(key);
    expect(semaphore).toMatchObject({ kind: 'semaphore', permits: 3, holders: [{ here: false, names: ['contract'] }] });
    await permit.release();

    await world.overwrite(key, 'a stranger', 30_000);
    expect(await here.locks.inspect(key)).toMatchObject({ held: true, kind: 'foreign', holders: [] });
    await world.overwrite(key, undefined);
  });

  it.each([
    ['readers', { kind: 'read' }, ':r'],
    ['permits', { kind: 'semaphore', permits: 3 }, 'P3:1'],
  ] as const)('does not report %s that have crashed, once their ttl has passed', async (_, options, suffix) => {
    const key = newKey();
    const store = world.store();
    onCleanup(() => store.close());
    const ownerToken = `${'c'.repeat(22)}:1${suffix}`;
    await store.acquire({ key, kind: options.kind, ownerToken, ttlMs: 50, wait: false, block: 1 });
    const lease = await there.acquire(key, options);
    await eventually(async () => expect((await here.locks.inspect(key)).holders).toHaveLength(1));
    expect((await there.locks.inspect(key)).holders).toMatchObject([{ here: true }]);
    await lease.release();
  });

  it.each([
    ['an exclusive lock', { kind: 'exclusive' }],
    ['a write lock', { kind: 'write' }],
    ['a read lock', { kind: 'read' }],
    ['a semaphore', { kind: 'semaphore', permits: 2 }],
  ] as const)(
    'revokes %s: its holder is notified at once, a waiter gets it, and the fencing token rises',
    async (_, options) => {
      const key = newKey();
      const lease = await there.acquire(key, { ...options, ttl: '60s' });
      const more = await others(key, options);
      const waiting = here.acquire(key, {
        ...(options.kind === 'semaphore' ? { ...options, weight: 2 } : {}),
        wait: '20s',
      });
      await eventually(async () => expect((await here.locks.inspect(key)).waiting).toBe(1));
      await expect(here.locks.forceRelease(key)).resolves.toBe(true);
      await eventually(() => expect([lease, ...more].every(({ signal }) => signal.aborted)).toBe(true), 1_000);
      expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
      const next = await waiting;
      expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
      expect(next.isHeld()).toBe(true);
      await lease.release();
      expect(next.isHeld()).toBe(true);
      await next.release();
      expect(await here.locks.forceRelease(key)).toBe(false);
    },
  );

  it.each([
    ['an exclusive lock', { kind: 'exclusive' }],
    ['a write lock', { kind: 'write' }],
    ['a read lock', { kind: 'read' }],
    ['a semaphore', { kind: 'semaphore', permits: 2 }],
  ] as const)(
    'takes over %s in one step: its holder is notified, the fencing token rises, and waiters keep their places',
    async (_, options) => {
      const key = newKey();
      const lease = await there.acquire(key, { ...options, ttl: '60s' });
      const more = await others(key, options);
      const waiting = start().acquire(key, { kind: 'write', wait: '20s' });
      await eventually(async () => expect((await here.locks.inspect(key)).waiting).toBeGreaterThan(0));
      const stolen = await here.locks.steal(key, { ttl: '60s', name: 'operator' });
      expect(stolen.fencingToken).toBeGreaterThan(lease.fencingToken);
      expect(await here.locks.inspect(key)).toMatchObject({ kind: 'exclusive', holders: [{ names: ['operator'] }] });
      await eventually(() => expect([lease, ...more].every(({ signal }) => signal.aborted)).toBe(true), 1_000);
      expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'forced' });
      await lease.release();
      expect(stolen.isHeld()).toBe(true);
      await stolen.release();
      await (await waiting).release();
    },
  );

  it.each([
    ['an exclusive lock', { kind: 'exclusive' }],
    ['a semaphore', { kind: 'semaphore', permits: 2 }],
  ] as const)('ends the hold of %s with a fencing token, and no other one', async (_, options) => {
    const key = newKey();
    const first = await there.acquire(key, { ...options, ttl: '60s' });
    const beside = options.kind === 'semaphore' ? [await there.acquire(key, { ...options, ttl: '60s' })] : [];
    const behind = there.acquire(key, { ...options, ttl: '60s', wait: '20s' });
    await expect(here.locks.forceRelease(key, { fencingToken: first.fencingToken + 1_000_000 })).resolves.toBe(false);
    expect(first.isHeld()).toBe(true);
    await expect(here.locks.forceRelease(key, { fencingToken: first.fencingToken })).resolves.toBe(true);
    await eventually(() => expect(first.signal.aborted).toBe(true), 1_000);
    const second = await behind;
    await expect(here.locks.forceRelease(key, { fencingToken: first.fencingToken })).resolves.toBe(false);
    expect([second, ...beside].every((lease) => lease.isHeld())).toBe(true);
    await expect(there.locks.forceRelease(key, { fencingToken: second.fencingToken })).resolves.toBe(true);
    await eventually(() => expect(second.signal.aborted).toBe(true), 1_000);
    for (const lease of beside) await lease.release();
  });

  it('does not end one of several readers, nor all holds without a fencing token', async () => {
    const key = newKey();
    const lease = await there.acquire(key, { kind: 'read' });
    const { fencingToken } = lease;
    await expect(here.locks.forceRelease(key, { fencingToken })).rejects.toMatchObject({ code: 'LOCK_USAGE' });
    const absent = { fencingToken: undefined as unknown as number };
    await expect(here.locks.forceRelease(key, absent)).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
    expect(lease.isHeld()).toBe(true);
    await lease.release();
  });

  it('takes over a lock that this process holds', async () => {
    const key = newKey();
    const lease = await here.acquire(key, { ttl: '60s' });
    const stolen = await here.locks.steal(key);
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'forced' });
    expect(stolen.isHeld()).toBe(true);
    await lease.release();
    expect(stolen.isHeld()).toBe(true);
    await stolen.release();
    expect(await here.locks.inspect(key)).toMatchObject({ held: false });
  });

  it('takes over a free lock, and a lock of a foreign holder', async () => {
    const key = newKey();
    await (await here.locks.steal(key)).release();
    await world.overwrite(key, 'a stranger');
    const stolen = await here.locks.steal(key);
    expect(await there.locks.inspect(key)).toMatchObject({ kind: 'exclusive', waiting: 0 });
    await stolen.release();
  });

  /** Other holders beside the first, where the kind allows it. */
  async function others(key: string, options: LockOptions): Promise<LeaseHandle[]> {
    const shared = options.kind === 'read' || options.kind === 'semaphore';
    return shared ? [await there.acquire(key, options)] : [];
  }

  it('revokes a lock of a foreign holder', async () => {
    const key = newKey();
    await world.overwrite(key, 'a stranger');
    const waiting = here.acquire(key, { wait: '20s' });
    await eventually(async () => expect((await here.locks.inspect(key)).waiting).toBe(1));
    expect(await there.locks.forceRelease(key)).toBe(true);
    await (await waiting).release();
  });

  it.each(['semaphore:5', 'readers'])('treats the value "%s" of a foreign client as foreign', async (value) => {
    const key = newKey();
    await world.overwrite(key, value, 30_000);
    expect(await here.locks.inspect(key)).toMatchObject({ held: true, kind: 'foreign', holders: [] });
    for (const options of [{ kind: 'semaphore', permits: 5 }, { kind: 'exclusive' }] as const)
      await expect(here.acquire(key, { ...options, wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    expect(await world.owner(key)).toBe(value);
    expect(await there.locks.forceRelease(key)).toBe(true);
    await (await here.acquire(key, { kind: 'semaphore', permits: 5 })).release();
  });

  it('rejects invalid keys', async () => {
    await expect(here.locks.inspect('')).rejects.toMatchObject({ code: 'LOCK_KEY' });
    await expect(here.locks.forceRelease('')).rejects.toMatchObject({ code: 'LOCK_KEY' });
    await expect(here.locks.steal('')).rejects.toMatchObject({ code: 'LOCK_KEY' });
  });

  it('leaves no key behind', async () => {
    await eventually(async () => expect(await world.leftovers()).toEqual([]));
  });
}
