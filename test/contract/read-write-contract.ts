import type { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import type { LockOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { eventually } from '../support/eventually.js';
import { startProcess, type Process, type World } from './world.js';

const READ = { kind: 'read', wait: '20s' } as const;
const WRITE = { kind: 'write', wait: '20s' } as const;

/** The rules of the read/write lock, from the view of callers in two processes. */
export function describeReadWriteContract(makeWorld: () => World): void {
  const world = makeWorld();
  const start = (): Process => startProcess(world);
  const here = start();
  const there = start();
  let count = 0;
  const newKey = (): string => `rw-${(count += 1)}`;

  /** Starts an acquire, and resolves when its attempt is in the queue of the store. */
  async function queued(process: Process, key: string, options: LockOptions): Promise<Promise<LeaseHandle>[]> {
    const before = process.counts.queued;
    const waiting = process.acquire(key, options);
    await eventually(() => expect(process.counts.queued).toBeGreaterThan(before));
    return [waiting];
  }

  /**
   * Asserts that no reader is granted at once. A reader that is granted before the message of the writer leaves again.
   */
  async function isClosed(process: Process, key: string): Promise<void> {
    const entered = process.acquire(key, { kind: 'read' }).then((lease) => lease.release());
    await expect(entered).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
  }

  const isOpen = async (lease: Promise<LeaseHandle>): Promise<boolean> =>
    Promise.race([lease.then(() => false), new Promise<boolean>((resolve) => setTimeout(resolve, 60, true))]);

  it('lets readers of both processes in together', async () => {
    const key = newKey();
    const readers = [await here.acquire(key, READ), await there.acquire(key, READ)];
    expect(readers.every((lease) => lease.isHeld())).toBe(true);
    for (const reader of readers) await reader.release();
    expect(await world.owner(key)).toBeUndefined();
  });

  it('lets another reader of a reading process in without a command', async () => {
    const key = newKey();
    const first = await here.acquire(key, READ);
    const { commands } = here.counts;
    const more = await Promise.all(Array.from({ length: 50 }, () => here.acquire(key, { kind: 'read' })));
    for (const lease of more) await lease.release();
    expect(here.counts.commands).toBe(commands);
    expect(new Set(more.map(({ fencingToken }) => fencingToken))).toEqual(new Set([first.fencingToken]));
    expect(first.isHeld()).toBe(true);
    await first.release();
    expect(await world.owner(key)).toBeUndefined();
  });

  it.each(['read', 'write', 'exclusive'] as const)('keeps a %s caller out while a writer holds it', async (kind) => {
    const key = newKey();
    const writer = await here.acquire(key, WRITE);
    for (const process of [here, there]) {
      await expect(process.acquire(key, { kind })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    }
    const [waiting] = await queued(there, key, { kind, wait: '20s' });
    await writer.release();
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(writer.fencingToken);
    await next.release();
  });

  it.each(['write', 'exclusive'] as const)('keeps a %s caller out while a reader holds it', async (kind) => {
    const key = newKey();
    const readers = [await here.acquire(key, READ), await there.acquire(key, READ)];
    for (const process of [here, there]) {
      await expect(process.acquire(key, { kind })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    }
    const [waiting] = await queued(there, key, { kind, wait: '20s' });
    await readers[0]?.release();
    expect(await isOpen(waiting)).toBe(true);
    await readers[1]?.release();
    const writer = await waiting;
    for (const { fencingToken } of readers) expect(writer.fencingToken).toBeGreaterThan(fencingToken);
    await writer.release();
  });

  it('lets no new reader overtake a waiting writer, and lets all readers in behind it', async () => {
    const key = newKey();
    const reader = await here.acquire(key, READ);
    const [writing] = await queued(there, key, WRITE);
    // A reader of the reading process is blocked by the message.
    await eventually(() => isClosed(here, key));
    await expect(there.acquire(key, { kind: 'read' })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    const behind = [here.acquire(key, READ), here.acquire(key, READ), ...(await queued(there, key, READ))];
    await reader.release();
    const writer = await writing;
    for (const each of behind) expect(await isOpen(each)).toBe(true);
    await writer.release();
    const readers = await Promise.all(behind);
    expect(readers.every((lease) => lease.isHeld())).toBe(true);
    for (const lease of readers) {
      expect(lease.fencingToken).toBeGreaterThan(writer.fencingToken);
      await lease.release();
    }
  });

  it('opens the gate again when the waiting writer has left', async () => {
    const key = newKey();
    const reader = await here.acquire(key, READ);
    const leaving = new AbortController();
    const writing = there.acquire(key, { ...WRITE, signal: leaving.signal });
    writing.catch(() => undefined);
    await eventually(() => isClosed(here, key));
    const sameProcess = here.acquire(key, READ);
    const [otherProcess] = await queued(there, key, READ);
    leaving.abort();
    await expect(writing).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    for (const lease of await Promise.all([sameProcess, otherProcess])) await lease.release();
    expect(reader.isHeld()).toBe(true);
    await reader.release();
  });

  it('lets readers and writers of both processes take turns', async () => {
    const key = newKey();
    const inside = { readers: 0, writers: 0, most: 0 };
    const loop = async (process: Process, kind: 'read' | 'write'): Promise<void> => {
      for (let i = 0; i < 15; i += 1) {
        const lease = await process.acquire(key, { kind, wait: '20s' });
        if (kind === 'read') inside.readers += 1;
        else inside.writers += 1;
        inside.most = Math.max(inside.most, inside.readers);
        expect(inside.writers).toBeLessThanOrEqual(inside.readers === 0 ? 1 : 0);
        await new Promise(setImmediate);
        if (kind === 'read') inside.readers -= 1;
        else inside.writers -= 1;
        await lease.release();
      }
    };
    const both = [here, there].flatMap((process) => [
      loop(process, 'read'),
      loop(process, 'read'),
      loop(process, 'write'),
    ]);
    await Promise.all(both);
    expect(inside.most).toBeGreaterThan(1);
  });

  it('turns a write lock into a read lock, without another writer in between', async () => {
    const key = newKey();
    const lease = await here.acquire(key, { ...WRITE, ttl: '10s' });
    const [alsoReading] = await queued(there, key, READ);
    const sameProcess = here.acquire(key, READ);
    const [writing] = await queued(there, key, WRITE);
    await Promise.all([lease.downgrade(), lease.downgrade()]);
    expect(lease.isHeld()).toBe(true);
    expect(lease.remainingMs()).toBeGreaterThan(9_000);
    const others = await Promise.all([alsoReading, sameProcess]);
    expect(await isOpen(writing)).toBe(true);
    await lease.downgrade();
    await lease.extend('60s');
    expect(lease.remainingMs()).toBeGreaterThan(50_000);
    for (const each of [lease, ...others]) await each.release();
    const writer = await writing;
    expect(writer.fencingToken).toBeGreaterThan(lease.fencingToken);
    await writer.release();
    await expect(lease.downgrade()).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it('releases a lease that is released during its downgrade', async () => {
    const key = newKey();
    const lease = await here.acquire(key, WRITE);
    const downgraded = lease.downgrade();
    await lease.release();
    await downgraded;
    expect(lease.isHeld()).toBe(false);
    await eventually(async () => expect(await world.owner(key)).toBeUndefined());
  });

  it('keeps the extension of a lease that was requested together with a downgrade', async () => {
    const key = newKey();
    const lease = await here.acquire(key, { ...WRITE, ttl: '10s' });
    const busy = here.acquire(newKey()); // its connection is in use
    await Promise.all([lease.extend('60s'), lease.downgrade(), lease.extend('30s')]);
    expect([lease.isHeld(), lease.kind]).toEqual([true, 'read']);
    expect(lease.remainingMs()).toBeGreaterThan(50_000);
    expect(await world.leftMs(key)).toBeGreaterThan(50_000);
    await lease.release();
    await (await busy).release();
  });

  it('reports a loss that a downgrade detects', async () => {
    const key = newKey();
    const lease = await here.acquire(key, WRITE);
    await world.overwrite(key, undefined);
    await expect(lease.downgrade()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(lease.signal.aborted).toBe(true);
  });

  it('notifies every reader of a process when their lease is lost', async () => {
    const key = newKey();
    const readers = await Promise.all([1, 2, 3].map(() => here.acquire(key, { ...READ, ttl: '1500ms' })));
    await world.overwrite(key, undefined);
    await eventually(() => expect(readers.every(({ signal }) => signal.aborted)).toBe(true));
    await (await here.acquire(key, READ)).release();
  });

  it('ends a reader without renewal beside a renewed one', async () => {
    const key = newKey();
    const short = await here.acquire(key, { kind: 'read', ttl: '1500ms', renew: false });
    const long = await here.acquire(key, { kind: 'read', ttl: '1500ms' });
    await eventually(() => expect(short.signal.aborted).toBe(true));
    expect([short.isHeld(), long.isHeld()]).toEqual([false, true]);
    expect(short.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'expired' });
    await long.release();
  });

  it('grants a reader with a longer ttl the ttl that it requests', async () => {
    const key = newKey();
    const first = await here.acquire(key, { kind: 'read', ttl: '2s' });
    const second = await here.acquire(key, { kind: 'read', ttl: '60s' });
    expect(second.remainingMs()).toBeGreaterThan(50_000);
    await first.release();
    await second.release();
  });

  it('is taken by a foreign client and by its own callers in turn', async () => {
    const key = newKey();
    await world.overwrite(key, 'x', 30_000);
    for (const kind of ['read', 'write'] as const) {
      await expect(here.acquire(key, { kind })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    }
    const waiting = [here.acquire(key, READ), there.acquire(key, READ)];
    await world.overwrite(key, undefined);
    for (const lease of await Promise.all(waiting)) await lease.release();
  });

  it('leaves no key behind', async () => {
    await eventually(async () => expect(await world.leftovers()).toEqual([]));
  });
}
