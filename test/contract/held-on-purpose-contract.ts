import { eventually } from '../support/eventually.js';
import { type Process, startProcess, type World } from './world.js';

const CONTENDED = { code: 'LOCK_CONTENDED' };

/** The rules of keys that outlive their work, from the view of callers in two processes. */
export function describeHeldOnPurposeContract(makeWorld: () => World): void {
  const world = makeWorld();
  const start = (): Process => startProcess(world);
  const here = start();
  const there = start();
  let count = 0;
  const newKey = (): string => `purpose-${(count += 1)}`;

  it('leaves the key to its ttl, counted from the grant, and does not release it', async () => {
    const key = newKey();
    const takenAt = performance.now();
    const lease = await here.acquire(key, { ttl: 600, release: 'expire' });
    const grantedAt = performance.now();
    await lease.release();
    expect(lease.isHeld()).toBe(false);
    expect(await world.owner(key)).toBe(lease.grant.ownerToken);
    for (const process of [here, there]) {
      await expect(process.acquire(key)).rejects.toMatchObject(CONTENDED);
    }
    const sinceMs = Math.floor(performance.now() - grantedAt);
    expect(await world.leftMs(key)).toBeLessThanOrEqual(600 - sinceMs + 1);
    const next = await there.acquire(key, { wait: '10s' });
    expect(performance.now() - takenAt).toBeGreaterThanOrEqual(599);
    expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
    await next.release();
    await eventually(async () => expect(await world.owner(key)).toBeUndefined());
  });

  it('makes the next caller of the same process wait for that end, and not longer', async () => {
    const key = newKey();
    const entered: number[] = [];
    const startedAt = performance.now();
    await Promise.all(
      [1, 2, 3].map(async () => {
        const lease = await here.acquire(key, { ttl: 300, release: 'expire', wait: '20s' });
        entered.push(performance.now() - startedAt);
        await lease.release();
      }),
    );
    entered.forEach((at, i) => expect(at).toBeGreaterThanOrEqual(i * 299));
    expect(entered[2]).toBeLessThan(5_000);
    await eventually(async () => expect(await world.owner(key)).toBeUndefined());
  });

  it('is not released because a caller of this process or another waits behind it', async () => {
    const key = newKey();
    const lease = await here.acquire(key, { ttl: '5s', release: 'expire' });
    const controllers = [new AbortController(), new AbortController()];
    const waiting = [here, there].map((process, i) =>
      process.acquire(key, { wait: '20s', signal: controllers[i].signal }),
    );
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    await lease.release();
    // The waiter sends a message to the process of the holder. That process must not treat the token as abandoned.
    await eventually(async () => expect(await world.waiting(key)).toBe(2));
    for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await world.owner(key)).toBe(lease.grant.ownerToken);
    for (const controller of controllers) controller.abort();
    for (const wait of waiting) await expect(wait).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    await world.overwrite(key, undefined);
  });

  it('renews while the work runs, and never ends during it', async () => {
    const key = newKey();
    const lease = await here.acquire(key, { ttl: 900, release: 'expire' });
    await new Promise((resolve) => setTimeout(resolve, 1_400));
    expect(lease.isHeld()).toBe(true);
    await lease.release();
    expect(await world.owner(key)).toBe(lease.grant.ownerToken);
    expect(await world.leftMs(key)).toBeLessThanOrEqual(900);
    await (await there.acquire(key, { wait: '10s' })).release();
  });

  it('keeps the key until the later of ttl and minHold', async () => {
    const [byTtl, byMinHold] = [newKey(), newKey()];
    const startedAt = performance.now();
    const first = await here.acquire(byTtl, { ttl: 600, minHold: 100, release: 'expire' });
    const second = await here.acquire(byMinHold, { ttl: 200, minHold: 600, release: 'expire' });
    await Promise.all([first.release(), second.release()]);
    await Promise.all(
      [byTtl, byMinHold].map(async (key) => {
        const next = await there.acquire(key, { wait: '10s' });
        expect(performance.now() - startedAt).toBeGreaterThanOrEqual(599);
        await next.release();
      }),
    );
  });

  it('keeps a permit, and the lease of a reader, in the same way', async () => {
    if (world.exclusiveOnly === true) return;
    const [permit, reader] = [newKey(), newKey()];
    const startedAt = performance.now();
    const one = { kind: 'semaphore', permits: 1 } as const;
    const semaphore = await here.acquire(permit, { ...one, ttl: 400, release: 'expire' });
    const read = await here.acquire(reader, { kind: 'read', ttl: 400, release: 'expire' });
    await Promise.all([semaphore.release(), read.release()]);
    await expect(there.acquire(permit, one)).rejects.toMatchObject(CONTENDED);
    await expect(there.acquire(reader)).rejects.toMatchObject(CONTENDED);
    await (await there.acquire(reader, { kind: 'read' })).release();
    for (const wait of [there.acquire(permit, { ...one, wait: '10s' }), there.acquire(reader, { wait: '10s' })]) {
      const lease = await wait;
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(399);
      await lease.release();
    }
  });

  it('releases no key at shutdown, and does not delay the shutdown', async () => {
    const [ended, held] = [newKey(), newKey()];
    const process = start();
    const first = await process.acquire(ended, { ttl: '20s', release: 'expire' });
    await first.release();
    const second = await process.acquire(held, { ttl: '20s', release: 'expire' });
    const startedAt = performance.now();
    await process.engine.drain(100);
    await process.engine.close();
    // The ttl is 20 s.
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(second.signal.reason).toMatchObject({ code: 'LOCK_SHUTDOWN' });
    expect(await world.owner(ended)).toBe(first.grant.ownerToken);
    expect(await world.owner(held)).toBe(second.grant.ownerToken);
    for (const key of [ended, held]) await world.overwrite(key, undefined);
  });

  it('leaves no key behind', async () => {
    await eventually(async () => expect(await world.leftovers()).toEqual([]));
  });
}
