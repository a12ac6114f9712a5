import { setTimeout as sleep } from 'node:timers/promises';

import { eventually } from '../support/eventually.js';
import { onCleanup } from '../support/cleanup.js';
import { startProcess, type Process, type World } from './world.js';

/** The rules of the exclusive lock, from the view of callers in two processes. */
export function describeCoreContract(makeWorld: () => World): void {
  const world = makeWorld();
  const start = (limits?: { perKey?: number; total?: number }): Process => startProcess(world, limits);
  const here = start();
  const there = start();
  let count = 0;
  const newKey = (): string => `core-${(count += 1)}`;

  it('refuses the second caller at once, in this process and in another', async () => {
    const key = newKey();
    const lease = await here.acquire(key, { ttl: '20s' });
    expect(lease.isHeld()).toBe(true);
    expect(lease.remainingMs()).toBeGreaterThan(15_000);
    for (const process of [here, there]) {
      await expect(process.acquire(key)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    }
    await lease.release();
    expect(lease.isHeld()).toBe(false);
    expect(await world.owner(key)).toBeUndefined();
    await (await there.acquire(key)).release();
  });

  it('ignores a second release, and a release after the loss', async () => {
    const key = newKey();
    const lease = await here.acquire(key);
    await Promise.all([lease.release(), lease.release()]);
    const other = await there.acquire(key);
    await lease.release();
    expect(await world.owner(key)).toBe(other.grant.ownerToken);
    await other.release();
  });

  it('hands the lock over to a waiter of another process', async () => {
    const key = newKey();
    const lease = await here.acquire(key);
    const waiting = there.acquire(key, { wait: '10s' });
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    await lease.release();
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
    await next.release();
  });

  it('serves the callers of one process in order, with rising fencing tokens, on one attempt', async () => {
    const key = newKey();
    const order: number[] = [];
    const tokens: number[] = [];
    await Promise.all(
      Array.from({ length: 150 }, async (_, i) => {
        const lease = await here.acquire(key, { wait: '10s' });
        order.push(i);
        tokens.push(lease.fencingToken);
        await lease.release();
      }),
    );
    expect(order).toEqual(order.map((_, i) => i));
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    expect(await world.owner(key)).toBeUndefined();
  });

  const inOrder = async (): Promise<void> => {
    const key = newKey();
    const first = await here.acquire(key);
    const order: number[] = [];
    const all: Promise<void>[] = [];
    for (let i = 0; i < 10; i += 1) {
      const process = i % 3 === 0 ? there : here;
      all.push(
        process.acquire(key, { wait: '10s', fair: 'strict' }).then(async (lease) => {
          order.push(i);
          await lease.release();
        }),
      );
      // The next caller asks once this one is in the queue.
      await eventually(async () => expect(await world.waiting(key)).toBe(i + 1));
    }
    await first.release();
    await Promise.all(all);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  };
  if (world.handsOver === false) {
    it('rejects a caller with strict fairness, because this store has no order of waiters', async () => {
      for (const wait of [0, 20_000]) {
        await expect(here.acquire(newKey(), { wait, fair: 'strict' })).rejects.toMatchObject({ code: 'LOCK_USAGE' });
      }
    });
  } else it('serves strict callers of both processes in the order of their attempts', inOrder);

  it('excludes concurrent callers of both processes, and serves both', async () => {
    const key = newKey();
    let inside = 0;
    const served = new Map<Process, number>();
    const loop = async (process: Process): Promise<void> => {
      for (let i = 0; i < 20; i += 1) {
        const lease = await process.acquire(key, { wait: '20s' });
        expect((inside += 1)).toBe(1);
        await new Promise(setImmediate);
        inside -= 1;
        served.set(process, (served.get(process) ?? 0) + 1);
        await lease.release();
      }
    };
    await Promise.all([here, there].flatMap((process) => [loop(process), loop(process), loop(process)]));
    expect(served.get(here)).toBe(60);
    expect(served.get(there)).toBe(60);
  });

  it('ends a wait at its deadline, and leaves no queue entry', async () => {
    const key = newKey();
    const lease = await here.acquire(key);
    for (const process of [here, there]) {
      await expect(process.acquire(key, { wait: 80 })).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
    }
    await eventually(async () => expect(await world.waiting(key)).toBe(0));
    await lease.release();
    expect(await world.owner(key)).toBeUndefined();
  });

  it('ends a wait at once when its signal aborts, and sends no command when it has aborted before', async () => {
    const key = newKey();
    const lease = await here.acquire(key);
    const reason = new Error('the client left');
    for (const process of [here, there]) {
      const controller = new AbortController();
      const waiting = process.acquire(key, { wait: '20s', signal: controller.signal });
      setTimeout(() => controller.abort(reason), 20);
      await expect(waiting).rejects.toMatchObject({ code: 'LOCK_ABORTED', cause: reason });
    }
    await expect(there.acquire(newKey(), { signal: AbortSignal.abort(reason) })).rejects.toMatchObject({
      code: 'LOCK_ABORTED',
    });
    await lease.release();
    // The callers leave by other connections than the release.
    await eventually(async () => expect(await world.owner(key)).toBeUndefined());
  });

  it('takes a lock after a foreign holder, by polling', async () => {
    const key = newKey();
    await world.overwrite(key, 'x', 30_000);
    await expect(here.acquire(key)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    const waiting = here.acquire(key, { wait: '10s' });
    await sleep(30);
    await world.overwrite(key, undefined);
    await (await waiting).release();
  });

  it('renews a lease while it is held', async () => {
    const key = newKey();
    const lease = await here.acquire(key, { ttl: '3s' });
    const firstEnd = performance.now() + 3_000;
    await eventually(async () => expect(performance.now() + (await world.leftMs(key))).toBeGreaterThan(firstEnd + 500));
    expect(lease.isHeld()).toBe(true);
    expect(await world.owner(key)).toBe(lease.grant.ownerToken);
    await lease.release();
  });

  it.each([
    ['without renewal', { ttl: 300, renew: false }],
    ['beyond maxHold', { ttl: 600, maxHold: 300 }],
  ])('ends a lease %s, notifies the holder in time, and grants the lock to the next caller', async (_, options) => {
    const key = newKey();
    const lease = await here.acquire(key, options);
    await new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
    expect(lease.isHeld()).toBe(false);
    expect(lease.remainingMs()).toBe(0);
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', fencingToken: lease.fencingToken });
    await (await there.acquire(key, { wait: '1s' })).release();
    await expect(lease.extend()).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it('notifies the holder when its key was deleted by hand', async () => {
    const key = newKey();
    const lease = await here.acquire(key, { ttl: '1500ms' });
    await world.overwrite(key, undefined);
    await eventually(() => expect(lease.signal.aborted).toBe(true));
    expect(lease.isHeld()).toBe(false);
    expect(here.events.findLast(({ type }) => type === 'lost')).toMatchObject({ name: 'contract' });
  });

  it('extends a lease, never shortens it, and rejects for a lost one', async () => {
    const key = newKey();
    const lease = await here.acquire(key, { ttl: '5s' });
    await lease.extend('60s');
    expect(lease.remainingMs()).toBeGreaterThan(50_000);
    await lease.extend('1s');
    expect(lease.remainingMs()).toBeGreaterThan(50_000);
    await world.overwrite(key, undefined);
    await expect(lease.extend('60s')).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(lease.signal.aborted).toBe(true);
  });

  it('keeps the key until minHold after the work has ended', async () => {
    const key = newKey();
    const lease = await here.acquire(key, { ttl: '5s', minHold: 400 });
    await lease.release();
    expect(lease.isHeld()).toBe(false);
    await expect(there.acquire(key)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await expect(here.acquire(key)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await (await there.acquire(key, { wait: '5s' })).release();
  });

  it('refuses more waiters than its limits allow', async () => {
    const key = newKey();
    const small = start({ perKey: 1 });
    const lease = await small.acquire(key);
    const controller = new AbortController();
    const waiting = small.acquire(key, { wait: '10s', signal: controller.signal });
    await expect(small.acquire(key, { wait: '10s' })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    await lease.release();
  });

  it('keeps unusual keys apart', async () => {
    const names = ['a\0b', 'a\r\nb', 'é', 'é', '{}', 'a}b', '*', '__proto__', 'constructor', ' ', '{t}x', '{t}y'];
    const store = world.store();
    onCleanup(() => store.close());
    // A store may learn from its server which keys are valid.
    await store.connect();
    const [usable, unusable] = [true, false].map((good) => names.filter((name) => good === !store.keyFault?.(name)));
    for (const key of unusable) await expect(here.acquire(key)).rejects.toMatchObject({ code: 'LOCK_KEY', key });
    const leases = await Promise.all(usable.map((name) => here.acquire(`${newKey()}${name}`.slice(-name.length - 20))));
    expect(new Set(leases.map((lease) => lease.key)).size).toBe(usable.length);
    for (const lease of leases)
      await expect(there.acquire(lease.key)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await Promise.all(leases.map((lease) => lease.release()));
  });

  it('shuts down: rejects waiters at once, drains holders, lets running work finish, and releases the rest', async () => {
    const key = newKey();
    const process = start();
    const manual = await process.acquire(`${key}-manual`);
    const working = await process.acquire(`${key}-work`, { scoped: true });
    const waiting = process.acquire(`${key}-work`, { wait: '20s' });
    const drained = process.engine.drain(100);
    await expect(waiting).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
    await expect(process.acquire(key)).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
    await drained;
    expect(manual.signal.reason).toMatchObject({ code: 'LOCK_SHUTDOWN' });
    expect(await world.owner(manual.key)).toBeUndefined();
    expect(working.isHeld()).toBe(true);
    await working.release();
    expect(await world.owner(working.key)).toBeUndefined();
    await process.engine.close();
    await process.engine.close();
  });

  it('leaves no key behind', async () => {
    await eventually(async () => expect(await world.leftovers()).toEqual([]));
  });
}
