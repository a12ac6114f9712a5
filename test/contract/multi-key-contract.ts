import { setTimeout as sleep } from 'node:timers/promises';

import { currentLease, runHolding } from '../../libs/distribute-lock/src/engine/lease/held-leases.js';
import { LockStoreError } from '../../libs/distribute-lock/src/store/lock-store.js';
import { eventually } from '../support/eventually.js';
import { onCleanup } from '../support/cleanup.js';
import { type Process, startProcess, type World } from './world.js';

/**
 * The rules of multi-key calls, from the view of callers in two processes.
 * @param prefix - the prefix of the keys, optionally with a `{tag}`
 */
export function describeMultiKeyContract(makeWorld: () => World, prefix = ''): void {
  const world = makeWorld();
  const start = (): Process => startProcess(world);
  const here = start();
  const there = start();
  let count = 0;
  /** In ascending order. */
  const newKeys = (): readonly [string, string, string] => {
    count += 1;
    return [`${prefix}several-${count}-a`, `${prefix}several-${count}-b`, `${prefix}several-${count}-c`];
  };
  const owners = (keys: readonly string[]) => Promise.all(keys.map((key) => world.owner(key)));
  const expectFree = (keys: readonly string[]) =>
    eventually(async () => expect(await owners(keys)).toEqual(keys.map(() => undefined)));

  it('are one lease, for any order and with duplicates', async () => {
    const [a, b, c] = newKeys();
    const lease = await here.acquireMultiKey([c, a, b, a]);
    expect(lease.keys).toEqual([a, b, c]);
    expect(lease.key).toBe(a);
    expect([...lease.fencingTokens.keys()]).toEqual([a, b, c]);
    const numbers = [...lease.fencingTokens.values()];
    expect(new Set(numbers).size).toBe(3);
    expect(lease.fencingToken).toBe(Math.max(...numbers));
    expect(lease.isHeld()).toBe(true);
    expect(lease.remainingMs()).toBeGreaterThan(20_000);
    for (const key of [a, b, c]) await expect(there.acquire(key)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await lease.release();
    expect(lease.isHeld()).toBe(false);
    await expectFree([a, b, c]);
    const next = await there.acquire(b);
    expect(next.fencingToken).toBeGreaterThan(lease.fencingTokens.get(b)!);
    await next.release();
    await expect(lease.extend()).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it('take one command when all of them are free', async () => {
    const keys = newKeys();
    const store = world.store();
    onCleanup(() => store.close());
    if (store.acquireAll === undefined || store.mayTakeAll?.(keys) === false) return;
    await (await here.acquireMultiKey(newKeys())).release();
    const before = here.counts.commands;
    const lease = await here.acquireMultiKey(keys);
    expect(here.counts.commands - before).toBe(1);
    await lease.release();
  });

  it('are all refused when one of them is held, and the others stay free', async () => {
    const keys = newKeys();
    for (const key of keys) {
      const held = await there.acquire(key);
      for (const process of [here, there]) {
        await expect(process.acquireMultiKey(keys)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      }
      await expectFree(keys.filter((other) => other !== key));
      await held.release();
    }
    await (await here.acquireMultiKey(keys)).release();
  });

  it('report one event when they end without a lease', async () => {
    const keys = newKeys();
    const observed = start();
    const refusals = () => observed.events.filter(({ type }) => type === 'contended' || type === 'refused');
    const held = await there.acquire(keys[1]);
    await expect(observed.acquireMultiKey(keys)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    expect(refusals()).toEqual([
      expect.objectContaining({ type: 'contended', error: expect.objectContaining({ code: 'LOCK_CONTENDED' }) }),
    ]);
    await expect(observed.acquireMultiKey(keys, { wait: 50 })).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
    const signal = AbortSignal.timeout(50);
    await expect(observed.acquireMultiKey(keys, { wait: '20s', signal })).rejects.toMatchObject({
      code: 'LOCK_ABORTED',
    });
    expect(refusals().map(({ type }) => type)).toEqual(['contended', 'contended', 'refused']);
    expect(refusals()[1].waitedMs).toBeGreaterThanOrEqual(50);
    await held.release();
  });

  it('report no event for a first try that failed, while the wait lasts', async () => {
    const keys = newKeys();
    const store = world.store();
    onCleanup(() => store.close());
    if (store.acquireAll === undefined || store.mayTakeAll?.(keys) === false) return;
    let tries = 0;
    const fails = (): Promise<never> => {
      tries += 1;
      return Promise.reject(new LockStoreError('it has no time.', true));
    };
    // The store may be shared, so only this process uses the failing one.
    const failing = new Proxy(store, {
      get: (target, name): unknown => (name === 'acquireAll' ? fails : Reflect.get(target, name)),
    });
    const observed = startProcess({ ...world, store: () => failing });
    const lease = await observed.acquireMultiKey(keys, { wait: '20s' });
    expect(tries).toBe(1);
    expect(observed.events.map(({ type }) => type)).toEqual(keys.map(() => 'acquired'));
    await lease.release();
  });

  it('are kept and renewed while the call waits for another one', async () => {
    const [a, b, c] = newKeys();
    const held = await there.acquire(c);
    const waiting = here.acquireMultiKey([a, b, c], { ttl: '3s', wait: '20s' });
    await eventually(async () => expect(await world.waiting(c)).toBe(1));
    const kept = await owners([a, b]);
    expect(kept).not.toContain(undefined);
    const firstEnd = performance.now() + 3_000;
    for (const key of [a, b])
      await eventually(async () =>
        expect(performance.now() + (await world.leftMs(key))).toBeGreaterThan(firstEnd + 500),
      );
    expect(await owners([a, b])).toEqual(kept);
    await held.release();
    const lease = await waiting;
    expect(lease.isHeld()).toBe(true);
    await lease.release();
    await expectFree([a, b, c]);
  });

  it('have their full ttl from the grant of the last one, without renewal', async () => {
    const [a, b] = newKeys();
    const held = await there.acquire(b);
    const waiting = here.acquireMultiKey([a, b], { ttl: '2s', wait: '20s', renew: false });
    await eventually(async () => expect(await world.waiting(b)).toBe(1));
    await sleep(500);
    await held.release();
    const lease = await waiting;
    expect(lease.remainingMs()).toBeGreaterThan(1_600);
    await lease.release();
  });

  it('are all acquired again when a kept one is lost', async () => {
    const [a, b] = newKeys();
    const held = await there.acquire(b);
    const waiting = here.acquireMultiKey([a, b], { ttl: '1500ms', wait: '20s' });
    await eventually(async () => expect(await world.waiting(b)).toBe(1));
    const first = await world.owner(a);
    await world.overwrite(a, undefined);
    await eventually(async () => expect([undefined, first]).not.toContain(await world.owner(a)));
    await eventually(async () => expect(await world.waiting(b)).toBe(1));
    await held.release();
    const lease = await waiting;
    expect(lease.isHeld()).toBe(true);
    await lease.release();
    await expectFree([a, b]);
  });

  it('are lost with one of them, and the others are kept until the work has ended', async () => {
    const [a, b] = newKeys();
    const lease = await here.acquireMultiKey([a, b], { ttl: '1500ms' });
    await world.overwrite(b, undefined);
    await eventually(() => expect(lease.signal.aborted).toBe(true));
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', fencingToken: lease.fencingTokens.get(b) });
    expect([lease.isHeld(), lease.remainingMs()]).toEqual([false, 0]);
    const end = performance.now() + 1_500;
    await eventually(async () => expect(performance.now() + (await world.leftMs(a))).toBeGreaterThan(end));
    await expect(there.acquire(a)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await lease.release();
    await expectFree([a, b]);
  });

  it.each(['signal', 'deadline'])('leave no key behind when the %s ends the wait', async (by) => {
    const [a, b, c] = newKeys();
    const held = await there.acquire(c);
    const controller = new AbortController();
    const wait = by === 'signal' ? '20s' : 500;
    const startedAt = performance.now();
    const waiting = here.acquireMultiKey([a, b, c], { wait, signal: controller.signal });
    waiting.catch(() => undefined);
    await eventually(async () => expect(await world.waiting(c)).toBe(1));
    if (by === 'signal') controller.abort(new Error('the client left'));
    await expect(waiting).rejects.toMatchObject(
      by === 'signal'
        ? { code: 'LOCK_ABORTED', cause: { message: 'the client left' } }
        : { code: 'LOCK_WAIT_TIMEOUT', message: expect.stringContaining('500 ms') as string },
    );
    if (by === 'deadline') expect(performance.now() - startedAt).toBeGreaterThanOrEqual(499);
    await expectFree([a, b]);
    await eventually(async () => expect(await world.waiting(c)).toBe(0));
    await held.release();
  });

  it("are released without work, also with release: 'expire'", async () => {
    const [a, b] = newKeys();
    const held = await there.acquire(b);
    const kept = { ttl: '10s', release: 'expire', minHold: '5s', wait: 100 } as const;
    await expect(here.acquireMultiKey([a, b], kept)).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
    await expectFree([a]);
    await held.release();
    const lease = await here.acquireMultiKey([a, b], { ttl: '10s', release: 'expire' });
    await lease.release();
    expect(await owners([a, b])).not.toContain(undefined);
    for (const key of [a, b]) await world.overwrite(key, undefined);
  });

  it('let callers of both processes, in opposite order, take turns', async () => {
    const [a, b, c] = newKeys();
    let inside = 0;
    const loop = async (process: Process, keys: readonly string[]): Promise<void> => {
      for (let i = 0; i < 15; i += 1) {
        const lease = await process.acquireMultiKey(keys, { wait: '20s' });
        expect((inside += 1)).toBe(1);
        await new Promise(setImmediate);
        inside -= 1;
        await lease.release();
      }
    };
    await Promise.all([loop(here, [a, b]), loop(there, [b, a]), loop(here, [c, b]), loop(there, [b, c])]);
    await expectFree([a, b, c]);
  });

  it('are all part of the call chain', async () => {
    const [a, b, c] = newKeys();
    const lease = await here.acquireMultiKey([a, b]);
    await runHolding(lease, async () => {
      expect(currentLease(b)).toBe(lease);
      await expect(here.acquire(b, { wait: '5s' })).rejects.toMatchObject({ code: 'LOCK_USAGE' });
      await expect(here.acquireMultiKey([b, c], { wait: '5s' })).rejects.toMatchObject({ code: 'LOCK_USAGE' });
      const inner = await here.acquireMultiKey([b, c], { reentrant: true });
      expect(inner.fencingTokens.get(b)).toBe(lease.fencingTokens.get(b));
      await inner.release();
      expect(await world.owner(c)).toBeUndefined();
      expect(lease.isHeld()).toBe(true);
    });
    await lease.release();
    await expectFree([a, b, c]);
  });

  it('support readers and permits', async () => {
    if (world.exclusiveOnly === true) return;
    const keys = newKeys();
    const reads = await Promise.all(
      [here, there].map((each) => each.acquireMultiKey(keys, { kind: 'read', wait: '5s' })),
    );
    await expect(here.acquireMultiKey(keys, { kind: 'write' })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    for (const read of reads) await read.release();
    const write = await here.acquireMultiKey(keys, { kind: 'write', wait: '5s' });
    await write.downgrade();
    await (await there.acquireMultiKey(keys, { kind: 'read', wait: '5s' })).release();
    await write.release();
    await expectFree(keys);
    const permits = { kind: 'semaphore', permits: 2 } as const;
    const held = await Promise.all([here, there].map((each) => each.acquireMultiKey(keys, permits)));
    await expect(here.acquireMultiKey(keys, permits)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    for (const lease of held) await lease.release();
    await expectFree(keys);
  });

  it('wait for a key that another process uses as a semaphore; this process must not', async () => {
    if (world.exclusiveOnly === true) return;
    const [a, b] = newKeys();
    const held = await there.acquire(b, { kind: 'semaphore', permits: 2 });
    await expect(there.acquireMultiKey([a, b], { wait: '5s' })).rejects.toMatchObject({ code: 'LOCK_USAGE' });
    await expect(here.acquireMultiKey([a, b])).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    const waiting = here.acquireMultiKey([a, b], { wait: '5s' });
    await held.release();
    await (await waiting).release();
    await expectFree([a, b]);
  });

  it('are released at shutdown, and waiting calls are rejected', async () => {
    const [a, b] = newKeys();
    const process = start();
    const lease = await process.acquireMultiKey([a, b]);
    const waiting = process.acquireMultiKey([a, b], { wait: '20s' });
    const refused = expect(waiting).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
    await process.engine.drain(50);
    await refused;
    expect(lease.signal.reason).toMatchObject({ code: 'LOCK_SHUTDOWN' });
    await expectFree([a, b]);
  });

  it('leave no key behind', async () => {
    await eventually(async () => expect(await world.leftovers()).toEqual([]));
  });
}
