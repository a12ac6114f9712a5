import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import type { Hold } from './support/loops.js';
import { monotonicMs } from '../support/monotonic.js';
import { HOUR_MS, shiftedBy } from './support/shifted-clock.js';
import { useLockWorld } from './support/use-lock-world.js';

const wait = '20s';

/** Holds of a writer that overlapped with another hold, by the monotonic clock. */
function disturbed(writes: readonly Hold[], reads: readonly Hold[]): Hold[] {
  const meets = (one: Hold, other: Hold): boolean =>
    one !== other && one.entered < other.left && other.entered < one.left;
  return writes.filter((write) => [...writes, ...reads].some((other) => meets(write, other)));
}

describe('A read/write lock', () => {
  const world = useLockWorld();

  it.each([
    ['on time', 0],
    ['an hour ahead', HOUR_MS],
    ['an hour behind', -HOUR_MS],
  ])('lets a writer in only alone, and readers together, with a process whose clock is %s', async (_, shiftMs) => {
    const key = world.newKey();
    const processes = await Promise.all([world.process(), world.process(undefined, shiftedBy(shiftMs))]);
    const plan = { key, callers: 4, forMs: 3_000, holdMs: 8, ttl: 500, wait: 5_000, aborts: 0.1 };
    const fights = processes.flatMap((process) => [
      process.do('fight', { ...plan, kind: 'read' as const }),
      process.do('fight', { ...plan, callers: 2, kind: 'write' as const }),
    ]);
    const [reads1, writes1, reads2, writes2] = await Promise.all(fights);
    const reads = [...reads1.holds, ...reads2.holds];
    const writes = [...writes1.holds, ...writes2.holds];
    expect(disturbed(writes, reads)).toEqual([]);
    for (const { holds } of [reads1, writes1, reads2, writes2]) expect(holds.length).toBeGreaterThan(10);
    const together = reads.filter((one) =>
      reads.some((other) => one !== other && one.entered < other.entered && other.entered < one.left),
    );
    expect(together.length).toBeGreaterThan(10);
    await eventually(async () => expect(await world.keysOf(key)).toEqual([]));
  });

  it.each([
    ['read', 'read', true],
    ['read', 'write', false],
    ['write', 'read', false],
    ['write', 'write', false],
  ] as const)('serves two processes, one with %s and one with %s: both at once is %p', async (first, second, both) => {
    const key = world.newKey();
    const [one, other] = await Promise.all([world.process(), world.process()]);
    const held = await one.do('acquire', { key, kind: first });
    const acquired = other.do('acquire', { key, kind: second });
    if (both) await other.do('release', await acquired);
    else {
      await expect(acquired).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      const waiting = other.do('acquire', { key, kind: second, wait });
      await eventually(async () => expect(await world.waiting(key)).toBe(1));
      await one.do('release', held);
      await other.do('release', await waiting);
    }
    if (both) await one.do('release', held);
    expect(await world.keysOf(key)).toEqual([]);
  });

  it('serves a reader, a writer and a reader of two processes in that order', async () => {
    const key = world.newKey();
    const [one, other] = await Promise.all([world.process(), world.process()]);
    const reading = await one.do('acquire', { key, kind: 'read' });
    const writing = other.do('acquire', { key, kind: 'write', wait });
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    const again = other.do('acquire', { key, kind: 'read', wait });
    await eventually(async () => expect(await world.waiting(key)).toBe(2));
    await one.do('release', reading);
    const written = await writing;
    await other.do('release', written);
    const last = await again;
    expect(last.at).toBeGreaterThan(written.at);
    expect([reading.fencingToken, written.fencingToken, last.fencingToken]).toEqual(
      [reading.fencingToken, written.fencingToken, last.fencingToken].sort((a, b) => a - b),
    );
    await other.do('release', last);
  });

  it('waits for a killed reader no longer than its ttl, while another reader continues', async () => {
    const ttl = 2_000;
    const key = world.newKey();
    const [killed, staying, writer] = await Promise.all([world.process(), world.process(), world.process()]);
    await killed.do('acquire', { key, kind: 'read', ttl });
    const reading = await staying.do('acquire', { key, kind: 'read', ttl: 1_500 });
    const writing = writer.do('acquire', { key, kind: 'write', wait });
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    await killed.kill('SIGKILL');
    const killedAt = monotonicMs();
    // The lease of the other reader is renewed throughout, and does not end with the lease of the killed one.
    await new Promise((resolve) => setTimeout(resolve, 0.8 * ttl));
    expect(await staying.do('isHeld', reading)).toMatchObject({ held: true });
    await staying.do('release', reading);
    const { at } = await writing;
    expectBelow(at - killedAt, ttl + 1_000);
    await writer.do('release', await writing);
    expect(await world.keysOf(key)).toEqual([]);
  });

  it('lets readers in behind a killed writer within its ttl', async () => {
    const ttl = 2_000;
    const key = world.newKey();
    const [killed, ...readers] = await Promise.all([world.process(), world.process(), world.process()]);
    await killed.do('acquire', { key, kind: 'write', ttl });
    const reading = readers.flatMap((process) =>
      Array.from({ length: 5 }, () => process.do('acquire', { key, kind: 'read', wait })),
    );
    await eventually(async () => expect(await world.waiting(key)).toBe(2));
    await killed.kill('SIGKILL');
    const killedAt = monotonicMs();
    const granted = await Promise.all(reading);
    // The second process may continue only with its heartbeat.
    expectBelow(Math.max(...granted.map(({ at }) => at)) - killedAt, ttl + 2_500);
    await Promise.all(granted.map((lease, i) => readers[Math.floor(i / 5)].do('release', lease)));
    expect(await world.keysOf(key)).toEqual([]);
  });

  it('ends the lease of one reader, and keeps the renewed ones', async () => {
    const key = world.newKey();
    const [short, long] = await Promise.all([world.process(), world.process()]);
    const ending = await short.do('acquire', { key, kind: 'read', ttl: 1_500, renew: false });
    const renewed = await long.do('acquire', { key, kind: 'read', ttl: 1_500 });
    expect(await short.do('loss', ending)).toMatchObject({ held: false, reason: 'LEASE_LOST' });
    expect(await long.do('isHeld', renewed)).toMatchObject({ held: true });
    await expect(short.do('acquire', { key, kind: 'write' })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await long.do('release', renewed);
    expect(await world.keysOf(key)).toEqual([]);
  });

  it('grants the lock to a writer while a reader is stopped, and notifies the reader of its loss', async () => {
    const key = world.newKey();
    const [stopped, writer] = await Promise.all([world.process(), world.process()]);
    const reading = await stopped.do('acquire', { key, kind: 'read', ttl: 500 });
    const writing = writer.do('acquire', { key, kind: 'write', wait });
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    stopped.pause();
    const written = await writing;
    const loss = stopped.do('loss', reading);
    stopped.resume();
    expect(await loss).toMatchObject({ held: false, reason: 'LEASE_LOST' });
    expect(await writer.do('isHeld', written)).toMatchObject({ held: true });
    await writer.do('release', written);
  });
});
