import { setTimeout as sleep } from 'node:timers/promises';

import { outsideLocks } from '../../libs/distribute-lock/src/engine/lease/held-leases.js';
import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import { LockService } from '../../libs/distribute-lock/src/nest/lock.service.js';
import type { AcquireOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { eventually } from '../support/eventually.js';
import { type Process, startProcess, type World } from './world.js';

/** The rules of a call chain that asks for a lock that it holds. */
export function describeNestingContract(makeWorld: () => World): void {
  const world = makeWorld();
  const start = (): Process => startProcess(world);
  const here = start();
  const locks = new LockService(() => here.engine);
  const there = new LockService(() => start().engine);
  let count = 0;
  const newKey = (): string => `nested-${(count += 1)}`;

  it('fails at once with LOCK_USAGE where it would wait for itself', async () => {
    const key = newKey();
    const through = (): Promise<string> => locks.withLock(key, { wait: '20s' }, () => 'never');
    await locks.withLock(key, async () => {
      await expect(through()).rejects.toMatchObject({ code: 'LOCK_USAGE' });
      await expect(locks.acquire(key)).rejects.toThrow(/reentrant: true/);
      await expect(Promise.all([through(), through()])).rejects.toMatchObject({ code: 'LOCK_USAGE' });
      // Another key and another caller are not affected.
      await locks.withLock(`${key}-other`, () => expect(through()).rejects.toMatchObject({ code: 'LOCK_USAGE' }));
      await expect(there.withLock(key, () => 'never')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    });
    expect(await world.owner(key)).toBeUndefined();
    await expect(locks.withLock(key, () => 'free again')).resolves.toBe('free again');
  });

  it.each([1, 2])('reports each refused call to observers (%i keys)', async (length) => {
    const [key, ...others] = Array.from({ length }, newKey);
    await locks.withLock(key, async () => {
      const before = here.events.length;
      const error: unknown = await locks.acquire([key, ...others]).catch((refusal: unknown) => refusal);
      expect(here.events.slice(before)).toEqual([{ type: 'refused', name: 'service', waitedMs: 0, error }]);
    });
  });

  it('enters again with `reentrant`, inside the lease of the outer call', async () => {
    const key = newKey();
    await locks.withLock(key, async (outer) => {
      const owner = await world.owner(key);
      await locks.withLock(key, { reentrant: true }, async (inner) => {
        expect([inner.key, inner.fencingToken, inner.signal]).toEqual([key, outer.fencingToken, outer.signal]);
        expect(locks.current()).toBe(inner);
        await locks.withLock(key, { reentrant: true }, (innermost) => expect(innermost.isHeld()).toBe(true));
        await inner.extend('60s');
        expect(outer.remainingMs()).toBeGreaterThan(50_000);
      });
      const again = await locks.acquire(key, { reentrant: true });
      await again.release();
      expect(again.isHeld()).toBe(false);
      expect(again.remainingMs()).toBe(0);
      await expect(again.extend()).rejects.toMatchObject({ code: 'LEASE_LOST' });
      // The outer call has held the lock throughout.
      expect(outer.isHeld()).toBe(true);
      expect(await world.owner(key)).toBe(owner);
      await expect(there.withLock(key, () => 'never')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    });
    expect(await world.owner(key)).toBeUndefined();
  });

  describeLaterWork({ world, locks, there, newKey });

  if (world.exclusiveOnly !== true) describeOtherKinds(world, locks, there, newKey);
  else {
    it('refuses the combinations of kinds that are not supported', async () => {
      for (const options of [{ kind: 'write' }, { kind: 'read' }, { kind: 'semaphore', permits: 2 }] as const) {
        await expect(locks.withLock(newKey(), options, () => 'never')).rejects.toMatchObject({ code: 'LOCK_USAGE' });
      }
    });
  }

  it('does not treat a promise that outlives its method as a holder', async () => {
    const key = newKey();
    let goOn: () => void = () => undefined;
    const outlived = new Promise<void>((resolve) => (goOn = resolve));
    let detached: Promise<number> | undefined;
    const first = await locks.withLock(key, ({ fencingToken }) => {
      detached = outlived.then(() => locks.withLock(key, { reentrant: true }, (lease) => lease.fencingToken));
      return fencingToken;
    });
    goOn();
    expect(await detached).toBeGreaterThan(first);
  });

  it('does not treat the same key of another connection as the same lock', async () => {
    const key = newKey();
    await locks.withLock(key, () => expect(there.acquire(key)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' }));
  });

  describeObservers(here, locks, newKey);
}

interface Setting {
  readonly world: World;
  readonly locks: LockService;
  readonly there: LockService;
  readonly newKey: () => string;
}

/** Begins a nested call, which runs until `end()` is called. */
function startInner(locks: LockService, key: string, options: AcquireOptions = {}) {
  return new Promise<{ lease: Lease; end: () => Promise<void> }>((resolve, reject) => {
    const result = locks.withLock(key, { reentrant: true, ...options }, (lease) => {
      const ended = new Promise<void>((end) => {
        resolve({
          lease,
          end: () => {
            end();
            return result;
          },
        });
      });
      return ended;
    });
    result.catch(reject);
  });
}

/** Nested calls that run for longer than the outer call, and work that leaves the chain. */
function describeLaterWork({ world, locks, there, newKey }: Setting): void {
  it.each([
    ['a nested call that the outer call does not wait for', (key: string) => key],
    ['a nested call in a multi-key call', (key: string) => [`${key}-a`, key]],
  ])('keeps the key until the end of %s', async (_case, keysOf) => {
    const key = newKey();
    let outer: Lease | undefined;
    const inners = await locks.withLock(keysOf(key), async (lease) => {
      outer = lease;
      return [await startInner(locks, key), await startInner(locks, key)];
    });
    expect([outer?.isHeld(), outer?.remainingMs()]).toEqual([false, 0]);
    await expect(outer?.extend()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'released' });
    for (const inner of inners) {
      expect(inner.lease.isHeld()).toBe(true);
      await inner.lease.extend('60s');
      await expect(there.withLock(key, () => 'never')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      // The next caller of this process waits, too.
      await expect(locks.withLock(key, () => 'never')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      await inner.end();
    }
    expect(await world.owner(key)).toBeUndefined();
  });

  it('hands the key over to a waiter of this process after the end of the last nested call', async () => {
    const key = newKey();
    const order: string[] = [];
    const inner = await locks.withLock(key, () => startInner(locks, key));
    const next = locks.withLock(key, { wait: '20s' }, () => void order.push('next'));
    await expect(there.withLock(key, () => 'never')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    order.push('inner ends');
    await inner.end();
    await next;
    expect(order).toEqual(['inner ends', 'next']);
  });

  it('notifies a nested call of a loss after the end of the outer call', async () => {
    const key = newKey();
    const inner = await locks.withLock(key, { ttl: '3s' }, () => startInner(locks, key, { onLost: 'throw' }));
    await world.overwrite(key, undefined);
    await eventually(() => expect(inner.lease.signal.aborted).toBe(true));
    await expect(inner.end()).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it('lets work outside of the locks wait for them, and returns its result', async () => {
    const key = newKey();
    const later = await locks.withLock(key, () => ({
      sync: outsideLocks(() => locks.current()),
      result: outsideLocks(() => locks.withLock(key, { wait: '20s' }, ({ fencingToken }) => fencingToken)),
      advice: locks.withLock(key, () => 'never').catch(({ message }: Error) => message),
    }));
    expect(later.sync).toBeUndefined();
    expect(await later.result).toBeGreaterThan(0);
    expect(await later.advice).toContain('outsideLocks()');
  });
}

function describeOtherKinds(world: World, locks: LockService, there: LockService, newKey: () => string): void {
  it('lets a reader read again, also behind a closed gate, and refuses to let it write', async () => {
    const key = newKey();
    const writing = new AbortController();
    await locks.withLock(key, { kind: 'read' }, async (outer) => {
      const writer = there.withLock(key, { kind: 'write', wait: '20s', signal: writing.signal }, () => 'never');
      await eventually(async () => expect(await world.waiting(key)).toBe(1));
      await locks.withLock(key, { kind: 'read' }, async (inner) => {
        expect(inner.fencingToken).toBe(outer.fencingToken);
        await expect(inner.downgrade()).rejects.toMatchObject({ code: 'LOCK_USAGE' });
      });
      for (const kind of ['write', 'exclusive'] as const) {
        const upgrade = locks.withLock(key, { kind, wait: '20s', reentrant: true }, () => 'never');
        await expect(upgrade).rejects.toMatchObject({
          code: 'LOCK_USAGE',
          message: expect.stringMatching(/downgrade/),
        });
      }
      writing.abort();
      await expect(writer).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    });
    await eventually(async () => expect(await world.owner(key)).toBeUndefined());
  });

  it('lets a writer read what it holds with `reentrant`, and a downgraded one always', async () => {
    const key = newKey();
    await locks.withLock(key, { kind: 'write' }, async (outer) => {
      await expect(locks.withLock(key, { kind: 'read' }, () => 'never')).rejects.toMatchObject({ code: 'LOCK_USAGE' });
      await locks.withLock(key, { kind: 'read', reentrant: true }, (inner) => expect(inner.isHeld()).toBe(true));
      await outer.downgrade();
      await locks.withLock(key, { kind: 'read' }, (inner) => expect(inner.isHeld()).toBe(true));
      await expect(locks.withLock(key, { kind: 'write' }, () => 'never')).rejects.toMatchObject({ code: 'LOCK_USAGE' });
    });
    expect(await world.owner(key)).toBeUndefined();
  });

  it('refuses to downgrade while a nested call writes, and a nested writer during the downgrade', async () => {
    const key = newKey();
    await locks.withLock(key, { kind: 'write' }, async (outer) => {
      const inner = await startInner(locks, key, { kind: 'write' });
      const reader = await startInner(locks, key, { kind: 'read' });
      await expect(outer.downgrade()).rejects.toMatchObject({ code: 'LOCK_USAGE' });
      await expect(there.withLock(key, { kind: 'read' }, () => 'never')).rejects.toMatchObject({
        code: 'LOCK_CONTENDED',
      });
      await inner.end();
      const downgraded = outer.downgrade();
      const late = locks.withLock(key, { kind: 'write', reentrant: true }, () => 'never');
      await expect(late).rejects.toMatchObject({ code: 'LOCK_USAGE' });
      await downgraded;
      await reader.end();
    });
    expect(await world.owner(key)).toBeUndefined();
  });

  it('keeps a read lock until the end of a nested reader', async () => {
    const key = newKey();
    const inner = await locks.withLock(key, { kind: 'read' }, () => startInner(locks, key, { kind: 'read' }));
    await expect(there.withLock(key, { kind: 'write' }, () => 'never')).rejects.toMatchObject({
      code: 'LOCK_CONTENDED',
    });
    await inner.end();
    await eventually(async () => expect(await world.owner(key)).toBeUndefined());
  });

  it('refuses a second permit of a semaphore inside the first', async () => {
    const key = newKey();
    const semaphore = { kind: 'semaphore', permits: 5 } as const;
    await locks.withLock(key, semaphore, async () => {
      for (const reentrant of [false, true]) {
        const nested = locks.withLock(key, { ...semaphore, reentrant }, () => 'never');
        const message = expect.stringContaining('Acquire it once, with the sum of the weights.') as string;
        await expect(nested).rejects.toMatchObject({ code: 'LOCK_USAGE', message });
      }
      await there.withLock(key, semaphore, (lease) => expect(lease.isHeld()).toBe(true));
    });
    expect(await world.owner(key)).toBeUndefined();
  });
}

function describeObservers(here: Process, locks: LockService, newKey: () => string): void {
  let inside = 0;
  let most = 0;
  const work = async (ms: number): Promise<void> => {
    most = Math.max(most, (inside += 1));
    await sleep(ms);
    inside -= 1;
  };
  const enter = (key: string): Promise<void> => locks.withLock(key, { reentrant: true, wait: '20s' }, () => work(20));

  it('is not entered by a listener of a loss that runs in a timer of the call', async () => {
    const key = newKey();
    const other = await here.acquire(newKey(), { ttl: 600, renew: false });
    const entered = new Promise((resolve) => {
      other.signal.addEventListener('abort', () => resolve(enter(key)));
    });
    await locks.withLock(key, async () => {
      // This lease ends first, so the timer of all leases of the process starts in this context.
      // Real time: only that timer matters, not whether the lease is lost.
      const brief = await here.acquire(newKey(), { ttl: 300 });
      await work(800);
      await brief.release();
    });
    await entered;
    expect(most).toBe(1);
  });

  it('is not entered by a listener of its release', async () => {
    const key = newKey();
    let entered: Promise<void> | undefined;
    const end = here.observer.listen(() => void (entered ??= enter(key)), 'released');
    await locks.withLock(key, (lease) => lease.release());
    end();
    await locks.withLock(key, { wait: '20s' }, () => work(20));
    expect(entered).toBeDefined();
    await entered;
    expect(most).toBe(1);
  });
}
