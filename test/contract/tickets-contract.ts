import { Locks } from '../../libs/distribute-lock/src/locks/locks.js';
import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { withDetours } from '../support/held-up-store.js';
import { startProcess, type Process, type World } from './world.js';

/** The call fails with the loss of a lease for this reason. */
const lostBy = (reason: string): object => ({ code: 'LEASE_LOST', reason });

interface Party extends Process {
  readonly locks: Locks;
}

/**
 * Leases that travel from one process to another.
 * @param tag - what keeps several keys in one slot
 */
export function describeTicketsContract(makeWorld: () => World, tag = ''): void {
  const world = makeWorld();
  const start = (): Party => {
    const process = startProcess(world);
    return { ...process, locks: new Locks(() => process.engine) };
  };
  const here = start();
  const there = start();
  let count = 0;
  const newKey = (): string => `${tag}ticket-${(count += 1)}`;
  const taken = (key: string) => expect(there.acquire(key)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });

  it('keeps the key locked for the ttl of the ticket, while the lease is over in its process', async () => {
    const key = newKey();
    const lease = await here.acquire(key, { ttl: '10s' });
    const ticket = await lease.detach({ ttl: '20s' });
    expect(ticket).toMatch(/^[\w-]{20,200}$/);
    expect([lease.isHeld(), lease.remainingMs(), lease.signal.aborted]).toEqual([false, 0, false]);
    await expect(lease.extend()).rejects.toMatchObject(lostBy('released'));
    await lease.release();
    await taken(key);
    await expect(here.acquire(key)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    expect(await world.leftMs(key)).toBeGreaterThan(15_000);
    expect(await here.locks.cancel(ticket)).toBe(true);
    expect(await world.owner(key)).toBeUndefined();
  });

  it('continues in another process, with a larger fencing token', async () => {
    const key = newKey();
    const lease = await here.acquire(key);
    const ticket = await lease.detach({ ttl: '20s' });
    const next = await there.locks.attach(ticket, { ttl: '10s' });
    expect(next).toMatchObject({ key, keys: [key] });
    expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
    expect(next.isHeld()).toBe(true);
    expect(next.remainingMs()).toBeLessThan(10_000);
    await next.extend('20s');
    expect(next.remainingMs()).toBeGreaterThan(15_000);
    await next.release();
    expect(await world.owner(key)).toBeUndefined();
  });

  it('works once, in one process', async () => {
    const key = newKey();
    const ticket = await (await here.acquire(key)).detach({ ttl: '20s' });
    const attached = await Promise.allSettled([here, there, here, there].map(({ locks }) => locks.attach(ticket)));
    const leases = attached.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const errors: unknown[] = attached.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    expect(leases).toHaveLength(1);
    expect(errors).toHaveLength(3);
    for (const error of errors) expect(error).toMatchObject({ ...lostBy('used'), fencingToken: expect.any(Number) });
    expect(await here.locks.cancel(ticket)).toBe(false);
    expect(leases[0]?.isHeld()).toBe(true);
    await leases[0]?.release();
    await expect(there.locks.attach(ticket)).rejects.toMatchObject(lostBy('used'));
  });

  it('rejects a ticket that was cancelled, has expired, or was never issued', async () => {
    const key = newKey();
    const cancelled = await (await here.acquire(key)).detach({ ttl: '20s' });
    expect(await there.locks.cancel(cancelled)).toBe(true);
    expect(await there.locks.cancel(cancelled)).toBe(false);
    await expect(there.locks.attach(cancelled)).rejects.toMatchObject(lostBy('released'));
    // Real time: the test waits for the end of the lease.
    const expired = await (await here.acquire(key)).detach({ ttl: '50ms' });
    await eventually(async () => expect(await world.owner(key)).toBeUndefined());
    await expect(there.locks.attach(expired)).rejects.toMatchObject(lostBy('expired'));
    const ticket = await (await here.acquire(key)).detach({ ttl: '20s' });
    const forged = `${ticket.slice(0, -3)}${ticket.endsWith('AAA') ? 'BBB' : 'AAA'}`;
    await expect(there.locks.attach(forged)).rejects.toMatchObject(lostBy('expired'));
    expect(await there.locks.cancel(forged)).toBe(false);
    await taken(key);
    await there.locks.cancel(ticket);
  });

  it('reports that an operator released a ticket by force', async () => {
    const key = newKey();
    const ticket = await (await here.acquire(key)).detach({ ttl: '20s' });
    expect(await there.locks.forceRelease(key)).toBe(true);
    await expect(there.locks.attach(ticket)).rejects.toMatchObject(lostBy('released'));
  });

  it('refuses strings that are no ticket of this version and prefix', async () => {
    const key = newKey();
    const ticket = await (await here.acquire(key)).detach({ ttl: '20s' });
    const other = ticket.replace(/_..../, ticket.includes('_AAAA') ? '_BBBB' : '_AAAA');
    for (const wrong of [
      '',
      'ticket',
      ticket.slice(1),
      ticket.replace('lt1', 'lt2'),
      other,
      `${ticket}A`,
      7 as never,
    ]) {
      for (const call of [there.locks.attach(wrong), there.locks.cancel(wrong)]) {
        const error: unknown = await call.catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ code: 'LOCK_USAGE' });
        expect(String(error)).not.toContain(ticket.slice(-10));
      }
    }
    await there.locks.cancel(ticket);
  });

  it('passes the lock to a waiter, of any process, when the ticket is cancelled', async () => {
    for (const waiter of [here, there]) {
      const key = newKey();
      const lease = await here.acquire(key);
      const waiting = waiter.acquire(key, { wait: '20s' });
      if (waiter === there) await eventually(async () => expect(await world.waiting(key)).toBe(1));
      const ticket = await lease.detach({ ttl: '20s' });
      await eventually(async () => expect(await world.waiting(key)).toBe(1));
      expect(await there.locks.cancel(ticket)).toBe(true);
      const next = await waiting;
      expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
      await next.release();
    }
  });

  it('keeps waiters waiting while the lease travels, and serves them after its release', async () => {
    const key = newKey();
    const lease = await here.acquire(key);
    const waiting = there.acquire(key, { wait: '20s' });
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    const next = await here.locks.attach(await lease.detach({ ttl: '20s' }));
    let served = false;
    void waiting.then(() => (served = true));
    await next.extend('20s');
    expect([served, next.isHeld()]).toEqual([false, true]);
    await next.release();
    const last = await waiting;
    expect(last.fencingToken).toBeGreaterThan(next.fencingToken);
    await last.release();
  });

  it('serves a waiter when the ticket expires', async () => {
    const key = newKey();
    const lease = await here.acquire(key);
    const waiting = there.acquire(key, { wait: '20s' });
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    // Real time: the end of the lease is what the waiter waits for.
    const ticket = await lease.detach({ ttl: '300ms' });
    await (await waiting).release();
    await expect(here.locks.attach(ticket)).rejects.toMatchObject(lostBy('expired'));
  });

  it('shows a detached lease, and nothing from which a ticket can be made', async () => {
    const key = newKey();
    const ticket = await (await here.acquire(key)).detach({ ttl: '20s' });
    const seen = await there.locks.inspect(key);
    expect(seen).toMatchObject({ held: true, holders: [{ detached: true, here: false, names: [], holds: [] }] });
    expect(seen.remainingMs).toBeGreaterThan(15_000);
    const owner = await world.owner(key);
    const secret = ticket.slice(-22);
    for (const text of [JSON.stringify(seen), owner, ...(await world.leftovers())]) expect(text).not.toContain(secret);
    await there.locks.cancel(ticket);
  });

  it('travels several times', async () => {
    const key = newKey();
    let lease: Lease = await here.acquire(key);
    const tokens = [lease.fencingToken];
    for (const { locks } of [there, here, there]) {
      lease = await locks.attach(await lease.detach({ ttl: '20s' }));
      tokens.push(lease.fencingToken);
    }
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    await lease.release();
    expect(await world.owner(key)).toBeUndefined();
  });

  it('takes all keys of a lease along', async () => {
    const keys = [newKey(), newKey(), newKey()];
    const lease = await here.acquireMultiKey(keys);
    const ticket = await lease.detach({ ttl: '20s' });
    expect(lease.isHeld()).toBe(false);
    for (const key of keys) await taken(key);
    const [one, two] = await Promise.allSettled([here.locks.attach(ticket), there.locks.attach(ticket)]);
    const next = [one, two].flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(next).toHaveLength(1);
    expect(next[0]?.keys).toEqual([...keys].sort());
    expect(next[0]?.isHeld()).toBe(true);
    for (const key of keys) expect(next[0]?.fencingTokens.get(key)).toBeGreaterThan(lease.fencingTokens.get(key)!);
    const again = await next[0]?.detach({ ttl: '20s' });
    expect(await there.locks.cancel(again)).toBe(true);
    for (const key of keys) expect(await world.owner(key)).toBeUndefined();
  });

  it('loses all keys when one of them is gone', async () => {
    const keys = [newKey(), newKey(), newKey()].sort();
    const ticket = await (await here.acquireMultiKey(keys)).detach({ ttl: '20s' });
    await world.overwrite(keys[1], undefined);
    await expect(there.locks.attach(ticket)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await eventually(async () => expect(await world.owner(keys[0])).toBeUndefined());
    await eventually(async () => expect(await world.owner(keys[2])).toBeUndefined());
  });

  it('counts the time before and after the detachment for maxHold', async () => {
    const key = newKey();
    const lease = await here.acquire(key, { maxHold: '10s' });
    await expect(lease.detach({ ttl: '11s' })).rejects.toMatchObject({ code: 'LOCK_USAGE' });
    expect(lease.isHeld()).toBe(true);
    const ticket = await lease.detach({ ttl: '9s' });
    const next = await there.locks.attach(ticket, { maxHold: '600ms' });
    await eventually(() => expect(next.signal.reason).toMatchObject({ reason: 'maxHold' }));
  });

  it.each(['exclusive', 'write'] as const)('has the kind %s', async (kind) => {
    const key = newKey();
    const ticket = await (await here.acquire(key, { kind })).detach({ ttl: '20s' });
    await (await there.locks.attach(ticket)).release();
    expect(await world.owner(key)).toBeUndefined();
  });

  it('ends work of withLock without an error', async () => {
    const key = newKey();
    const ticket = await here.locks.withLock(key, { onLost: 'throw' }, (lease) => lease.detach({ ttl: '20s' }));
    await taken(key);
    await (await there.locks.attach(ticket)).release();
  });

  it('refuses a nested call, and a ttl out of range', async () => {
    const key = newKey();
    await here.locks.withLock(key, { reentrant: true }, async (lease) => {
      await here.locks.withLock(key, { reentrant: true }, async (nested) => {
        await expect(nested.detach({ ttl: '20s' })).rejects.toMatchObject({ code: 'LOCK_USAGE' });
        await expect(lease.detach({ ttl: '20s' })).rejects.toMatchObject({ code: 'LOCK_USAGE' });
      });
      for (const ttl of ['1ms', '25h', '' as never, undefined as never, Number.NaN] as const) {
        await expect(lease.detach({ ttl })).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
      }
      await expect(lease.detach(undefined as never)).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
      expect(lease.isHeld()).toBe(true);
    });
  });

  it('does not delay the shutdown', async () => {
    const party = start();
    const key = newKey();
    const ticket = await (await party.acquire(key)).detach({ ttl: '20s' });
    const before = performance.now();
    await party.engine.drain(10_000);
    expect(performance.now() - before).toBeLessThan(5_000);
    await (await there.locks.attach(ticket)).release();
  });

  it('leaves the ticket valid when the caller leaves before the reply', async () => {
    let controller = new AbortController();
    /** A process whose caller leaves when a lease has been moved, and before it knows that. */
    const leaving = withDetours(world.store(), {
      move: async (ask) => {
        const answer = await ask();
        controller.abort();
        return answer;
      },
    });
    const { engine } = startProcess({ ...world, store: () => leaving });
    for (const keys of [[newKey()], [newKey(), newKey()]]) {
      controller = new AbortController();
      const ticket = await (await here.acquireMultiKey(keys)).detach({ ttl: '20s' });
      const attached = new Locks(() => engine).attach(ticket, { signal: controller.signal });
      await expect(attached).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
      expect(await world.leftMs(keys[0])).toBeGreaterThan(15_000);
      await (await there.locks.attach(ticket)).release();
    }
  });

  it('reports the end of the hold here, and its beginning there', async () => {
    const key = newKey();
    here.events.length = there.events.length = 0;
    const ticket = await (await here.acquire(key)).detach({ ttl: '20s' });
    const next = await there.locks.attach(ticket, { name: 'confirm' });
    await next.release();
    await eventually(() => {
      expect(here.events).toMatchObject([{ type: 'acquired' }, { type: 'released', detached: true }]);
      expect(there.events).toMatchObject([
        { type: 'acquired', name: 'confirm' },
        { type: 'released', name: 'confirm' },
      ]);
    });
    expect(JSON.stringify([here.events, there.events])).not.toContain(ticket.slice(-22));
  });

  if (world.exclusiveOnly === true) return;

  it('keeps the permits of a semaphore in use', async () => {
    const key = newKey();
    const options = { kind: 'semaphore', permits: 3, weight: 2 } as const;
    const lease = await here.acquire(key, options);
    const other = await there.acquire(key, { ...options, weight: 1 });
    const ticket = await lease.detach({ ttl: '20s' });
    await expect(there.acquire(key, options)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await other.release();
    await expect(there.acquire(key, options)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    const next = await there.locks.attach(ticket);
    expect(next.fencingToken).toBeGreaterThan(other.fencingToken);
    await expect(here.acquire(key, options)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await (await there.acquire(key, { ...options, weight: 1 })).release();
    const waiting = here.acquire(key, { ...options, wait: '20s' });
    const again = await next.detach({ ttl: '20s' });
    expect(await here.locks.cancel(again)).toBe(true);
    await (await waiting).release();
  });

  it('refuses a read lock', async () => {
    const lease = await here.acquire(newKey(), { kind: 'read' });
    await expect(lease.detach({ ttl: '20s' })).rejects.toMatchObject({ code: 'LOCK_USAGE' });
    expect(lease.isHeld()).toBe(true);
    await lease.release();
  });
}

/** A store whose nodes vote. */
export function describeNoTicketsContract(makeWorld: () => World): void {
  const process = startProcess(makeWorld());
  const locks = new Locks(() => process.engine);

  it('refuses to detach a lease, which stays held, and all tickets', async () => {
    const lease = await process.acquire('no-ticket');
    onCleanup(() => lease.release());
    await expect(lease.detach({ ttl: '20s' })).rejects.toMatchObject({ code: 'LOCK_USAGE' });
    expect(lease.isHeld()).toBe(true);
    await expect(locks.attach('ticket')).rejects.toMatchObject({ code: 'LOCK_USAGE' });
    await expect(locks.cancel('ticket')).rejects.toMatchObject({ code: 'LOCK_USAGE' });
  });
}
