import { LateAnswers } from '../../../../test/support/held-up-store.js';
import { ManualClock } from '../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';
import { acquireKeys, attach, away, loseReply, startProcesses } from '../../../../test/support/ticket-world.js';
import type { LockError } from '../errors.js';
import { LOCK_DEFAULTS } from '../options/lock-options.js';
import type { LockEngineSettings } from './lock-engine.js';

describe('attach()', () => {
  const detached = async (settings: Partial<LockEngineSettings> = {}) => {
    const world = startProcesses(settings);
    const lease = await world.here.acquire('k');
    return { ...world, lease, ticket: await lease.detach({ ttl: '10m' }) };
  };

  it('succeeds when the same process repeats it after a lost reply, and not in another one', async () => {
    const { here, there, ticket } = await detached();
    there.detours.move = loseReply;
    await expect(attach(there, ticket)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    delete there.detours.move;
    await expect(attach(here, ticket)).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'used' });
    const lease = await attach(there, ticket);
    expect(lease.isHeld()).toBe(true);
    await expect(attach(there, ticket)).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'used' });
  });

  it('renews the lease, and counts the time before for maxHold', async () => {
    const { clock, there, ticket } = await detached();
    await clock.pass(60_000);
    await expect(attach(there, ticket, { maxHoldMs: 60_000 })).rejects.toMatchObject({ reason: 'maxHold' });
    const lease = await attach(there, ticket, { ttlMs: 3_000, maxHoldMs: 90_000 });
    await clock.pass(29_000);
    expect(lease.isHeld()).toBe(true);
    await clock.pass(1_000);
    expect(lease.signal.reason).toMatchObject({ reason: 'maxHold' });
  });

  it('refuses a ticket of another connection, and accepts any name of the connection', async () => {
    const { world, ticket } = await detached();
    const elsewhere = new ManualWorld(new ManualClock()).process({}, 5, { connection: 'other' });
    await expect(attach(elsewhere, ticket)).rejects.toMatchObject({ code: 'LOCK_USAGE' });
    const renamed = world.process({}, 5, { connection: 'other' });
    expect((await attach(renamed, ticket)).isHeld()).toBe(true);
  });

  it('can be repeated by any process when the command did not reach the store', async () => {
    const { here, there, ticket } = await detached();
    there.detours.move = away;
    await expect(attach(there, ticket)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect((await attach(here, ticket)).isHeld()).toBe(true);
  });

  it('frees the key when its reply is lost and no call repeats it', async () => {
    const { clock, here, there, ticket } = await detached();
    there.detours.move = loseReply;
    await expect(attach(there, ticket, { ttlMs: 2_000 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await clock.pass(2_001);
    await (await here.acquire('k')).release();
    delete there.detours.move;
    await expect(attach(there, ticket)).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'used' });
  });

  it('begins with two thirds of the ttl when the reply comes late', async () => {
    const { clock, there, ticket } = await detached();
    const late = new LateAnswers();
    there.detours.move = late.detour;
    const attached = attach(there, ticket, { ttlMs: 1_000 });
    await clock.pass(700);
    delete there.detours.move;
    late.arrive();
    await clock.pass(1);
    expect((await attached).remainingMs()).toBeGreaterThan(900);
  });

  it('begins no hold on a lease that has ended', async () => {
    const { clock, here, there, ticket } = await detached();
    const late = new LateAnswers();
    there.detours.move = late.detour;
    const attached = attach(there, ticket, { ttlMs: 1_000 });
    await clock.pass(1_001);
    const next = await here.acquire('k');
    delete there.detours.move;
    late.arrive();
    await expect(attached).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(next.isHeld()).toBe(true);
  });

  it('is refused after the shutdown has begun, and does not use the ticket', async () => {
    const { here, there, ticket } = await detached();
    there.engine.refuse();
    await expect(attach(there, ticket)).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
    expect((await attach(here, ticket)).isHeld()).toBe(true);
  });

  it('is reported once as refused when it ends without a lease, except for a wrong ticket', async () => {
    const { clock, here, there, ticket } = await detached();
    const fails = async (text = ticket): Promise<void> => expect(attach(there, text)).rejects.toThrow();
    await fails(`${ticket}x`);
    there.detours.move = away;
    await fails();
    await clock.pass(24 * 3_600_000);
    await fails();
    const other = await (await here.acquire('seat:1')).detach({ ttl: '10m' });
    there.engine.refuse();
    await fails(other);
    const refused = there.events.filter(({ type }) => type === 'refused');
    expect(refused.map(({ name, error }) => [name, (error as LockError).code])).toEqual([
      ['service', 'LOCK_UNAVAILABLE'],
      ['service', 'LEASE_LOST'],
      ['seat', 'LOCK_SHUTDOWN'],
    ]);
  });

  it('refuses a semaphore that this process uses with another number of permits', async () => {
    const { here, there } = startProcesses();
    const lease = await here.acquire('s', { kind: 'semaphore', permits: 3 });
    const ticket = await lease.detach({ ttl: '10m' });
    const own = await there.acquire('s', { kind: 'semaphore', permits: 4 });
    await expect(attach(there, ticket)).rejects.toMatchObject({ code: 'LOCK_USAGE' });
    await own.release();
    const attached = await attach(there, ticket);
    await expect(there.acquire('s', { kind: 'semaphore', permits: 4 })).rejects.toMatchObject({ code: 'LOCK_USAGE' });
    const beside = await there.acquire('s', { kind: 'semaphore', permits: 3 });
    await Promise.all([attached.release(), beside.release()]);
  });

  it('does not keep the other keys of a ticket whose first key is gone', async () => {
    const { clock, world, here, there } = startProcesses();
    const ticket = await (await acquireKeys(here, ['a', 'b'])).detach({ ttl: '24h' });
    world.state.overwrite('a', undefined);
    await expect(attach(there, ticket)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await clock.pass(10);
    await (await there.acquire('b')).release();
  });

  it('keeps the keys of a ticket that another process has used', async () => {
    const { clock, here, there } = startProcesses();
    const ticket = await (await acquireKeys(here, ['a', 'b'])).detach({ ttl: '24h' });
    const lease = await attach(here, ticket);
    await expect(attach(there, ticket)).rejects.toMatchObject({ reason: 'used' });
    await clock.pass(60_000);
    expect(lease.isHeld()).toBe(true);
  });

  it('undoes keys that were moved, and those without an answer, when another key is gone', async () => {
    const { clock, world, here, there } = startProcesses();
    const ticket = await (await acquireKeys(here, ['a', 'b', 'c'])).detach({ ttl: '24h' });
    world.state.overwrite('c', undefined);
    let moves = 0;
    there.detours.move = async (ask) => ((moves += 1) === 2 ? loseReply(ask) : ask());
    await expect(attach(there, ticket, { ttlMs: 60_000 })).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await clock.pass(10);
    for (const key of ['a', 'b']) await (await there.acquire(key)).release();
  });

  it('can be repeated until the longest ttl of its calls has passed', async () => {
    const { clock, there, ticket } = await detached();
    there.detours.move = away;
    await expect(attach(there, ticket, { ttlMs: 1_000 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await clock.pass(5_000);
    there.detours.move = loseReply;
    await expect(attach(there, ticket, { ttlMs: 30_000 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    delete there.detours.move;
    await clock.pass(1_500);
    expect((await attach(there, ticket, { ttlMs: 30_000 })).isHeld()).toBe(true);
  });

  it('leaves the ticket valid for other processes when the shutdown begins before the reply', async () => {
    const { clock, here, there, ticket } = await detached();
    const late = new LateAnswers();
    there.detours.move = late.detour;
    const attached = attach(there, ticket);
    attached.catch(() => undefined);
    await clock.pass(1);
    let isDrained = false;
    const drained = there.engine.drain(5_000).then(() => (isDrained = true));
    await clock.pass(1);
    expect(isDrained).toBe(false);
    delete there.detours.move;
    late.arrive();
    await expect(attached).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
    await drained;
    expect((await attach(here, ticket)).isHeld()).toBe(true);
  });

  it('leaves the ticket valid when its signal aborts before the reply', async () => {
    const { clock, here, there, ticket } = await detached();
    const late = new LateAnswers();
    there.detours.move = late.detour;
    const controller = new AbortController();
    const { signal } = controller;
    const attached = there.engine.attach(ticket, { options: LOCK_DEFAULTS, scoped: false, signal });
    await clock.pass(1);
    controller.abort();
    delete there.detours.move;
    late.arrive();
    await expect(attached).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    expect((await attach(here, ticket)).isHeld()).toBe(true);
  });

  it('keeps a key for minHold no longer than maxHold allows', async () => {
    const { clock, here, there } = startProcesses();
    const lease = await here.acquire('k', { maxHold: '60s' });
    await clock.pass(40_000);
    const ticket = await lease.detach({ ttl: '19s' });
    await clock.pass(15_000);
    const next = await attach(there, ticket, { maxHoldMs: 60_000, minHoldMs: 30_000, ttlMs: 3_000 });
    await next.release();
    await clock.pass(7_000);
    await (await here.acquire('k')).release();
  });
});

describe('cancel()', () => {
  it('repeats the release in the background when the store does not respond', async () => {
    const { clock, here, there } = startProcesses();
    const ticket = await (await here.acquire('k')).detach({ ttl: '10m' });
    there.detours.release = away;
    await expect(there.engine.cancel(ticket)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    delete there.detours.release;
    await expect(attach(here, ticket)).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'released' });
    await clock.pass(1_000);
    await (await here.acquire('k')).release();
  });

  it('releases the lease that a call without a reply has moved to this process', async () => {
    const { here, there } = startProcesses();
    const ticket = await (await here.acquire('k')).detach({ ttl: '10m' });
    there.detours.move = loseReply;
    await expect(attach(there, ticket)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    delete there.detours.move;
    expect(await here.engine.cancel(ticket)).toBe(false);
    expect(await there.engine.cancel(ticket)).toBe(true);
    await (await here.acquire('k')).release();
  });

  it('undoes a move that the store executes after the release', async () => {
    const { clock, here, there } = startProcesses();
    const ticket = await (await here.acquire('k')).detach({ ttl: '10m' });
    let execute: (() => Promise<unknown>) | undefined;
    there.detours.move = (ask) => {
      execute = ask;
      return away();
    };
    await expect(attach(there, ticket)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    let releases = 0;
    there.detours.release = async (ask) => ((releases += 1) === 1 ? away() : ask());
    const cancelled = there.engine.cancel(ticket);
    await expect(cancelled).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await execute?.();
    await clock.pass(5_000);
    await (await here.acquire('k')).release();
  });

  it.each([
    ['cancel() first', true],
    ['attach() first', false],
  ])('succeeds for one of two calls in the same turn, %s', async (_, isCancelFirst) => {
    const { clock, here, there } = startProcesses();
    const ticket = await (await here.acquire('k')).detach({ ttl: '10m' });
    const calls: Promise<unknown>[] = [];
    const cancel = (): void => void calls.push(there.engine.cancel(ticket));
    if (isCancelFirst) cancel();
    const attached = attach(there, ticket);
    if (!isCancelFirst) cancel();
    const [lease, cancelled] = await Promise.allSettled([attached, ...calls]);
    await clock.pass(10);
    const isAttached = lease.status === 'fulfilled' && lease.value.isHeld();
    expect([isAttached, cancelled?.status === 'fulfilled' && cancelled.value]).toEqual([!isCancelFirst, isCancelFirst]);
  });

  it('succeeds for one of two calls that wait for an attach() without a reply', async () => {
    const { clock, here, there } = startProcesses();
    const ticket = await (await here.acquire('k')).detach({ ttl: '10m' });
    const late = new LateAnswers();
    there.detours.move = async (ask) => {
      await late.detour(ask);
      return away();
    };
    const lost = attach(there, ticket);
    await clock.pass(1);
    const [repeated, cancelled] = [attach(there, ticket), there.engine.cancel(ticket)];
    delete there.detours.move;
    late.arrive();
    await expect(lost).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect((await repeated).isHeld()).toBe(true);
    expect(await cancelled).toBe(false);
    await expect(here.acquire('k')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
  });

  it('reports the release of a command that was sent twice', async () => {
    const { here, there } = startProcesses();
    const ticket = await (await here.acquire('k')).detach({ ttl: '10m' });
    there.detours.release = async (ask) => {
      await ask();
      return { ...((await ask()) as object), resent: true };
    };
    expect(await there.engine.cancel(ticket)).toBe(true);
  });

  it.each(['cancel()', 'attach()'])(
    'reports no release when %s has used the ticket before, also if sent twice',
    async (before) => {
      const { here, there } = startProcesses();
      const ticket = await (await here.acquire('k')).detach({ ttl: '10m' });
      if (before === 'cancel()') expect(await there.engine.cancel(ticket)).toBe(true);
      else await attach(here, ticket);
      there.detours.release = async (ask) => ({ ...((await ask()) as object), resent: true });
      expect(await there.engine.cancel(ticket)).toBe(false);
    },
  );
});
