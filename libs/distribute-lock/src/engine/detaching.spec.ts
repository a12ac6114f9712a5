import { LateAnswers, LateCommand } from '../../../../test/support/held-up-store.js';
import { ManualClock } from '../../../../test/support/manual-clock.js';
import { type ManualProcess, ManualWorld } from '../../../../test/support/manual-world.js';
import { LOCK_DEFAULTS } from '../options/lock-options.js';
import { LockStoreError } from '../store/lock-store.js';
import type { Lease } from './lease/lease.js';
import type { LockEngineSettings } from './lock-engine.js';

const away = (): Promise<never> => Promise.reject(new LockStoreError('Redis did not respond.', true));
const refuse = (): Promise<never> => Promise.reject(new LockStoreError('NOPERM', false, { sent: false }));
/** The store executes the command, and its reply is lost. */
const loseReply = async (ask: () => Promise<unknown>): Promise<unknown> => {
  await ask();
  return away();
};

const attach = (process: ManualProcess, ticket: string, options = {}): Promise<Lease> =>
  process.engine.attach(ticket, { options: { ...LOCK_DEFAULTS, ...options }, scoped: false });

function start(settings: Partial<LockEngineSettings> = {}) {
  const clock = new ManualClock();
  const world = new ManualWorld(clock);
  return { clock, world, here: world.process({}, 5, settings), there: world.process() };
}

describe('lease.detach()', () => {
  it('relies on the lease for no longer than the ticket lasts when the reply is lost', async () => {
    const { clock, here, there } = start();
    const lease = await here.acquire('k', { ttl: '30s' });
    here.detours.move = loseReply;
    const detached = lease.detach({ ttl: '1s' });
    detached.catch(() => undefined);
    await clock.pass(1);
    here.detours.move = away;
    await clock.pass(1_010);
    const next = await there.acquire('k');
    expect([next.isHeld(), lease.isHeld(), lease.signal.aborted]).toEqual([true, false, true]);
    await clock.pass(100);
    await expect(detached).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it('repeats the command after a lost reply, and returns a ticket that works', async () => {
    const { clock, here, there } = start();
    const lease = await here.acquire('k');
    here.detours.move = loseReply;
    const detached = lease.detach({ ttl: '10m' });
    await clock.pass(60);
    delete here.detours.move;
    await clock.pass(200);
    expect((await attach(there, await detached)).isHeld()).toBe(true);
  });

  it('leaves the lease as it is when the store refuses the command', async () => {
    const { clock, here } = start();
    const lease = await here.acquire('k', { ttl: '3s' });
    here.detours.move = refuse;
    await expect(lease.detach({ ttl: '1s' })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    delete here.detours.move;
    expect(lease.remainingMs()).toBeGreaterThan(2_500);
    await clock.pass(10_000);
    expect(lease.isHeld()).toBe(true);
    expect(await lease.detach({ ttl: '1s' })).toMatch(/^lt1_/);
  });

  it('leaves the lease as it is when the store cannot keep the record', async () => {
    const { here } = start();
    const lease = await here.acquire('k');
    here.detours.keep = away;
    await expect(lease.detach({ ttl: '1s' })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(lease.isHeld()).toBe(true);
  });

  it('releases the key when no process can know the ticket', async () => {
    const { clock, here, there } = start();
    const lease = await here.acquire('k', { ttl: '1s' });
    here.detours.move = loseReply;
    const detached = lease.detach({ ttl: '10m' });
    detached.catch(() => undefined);
    await clock.pass(1_100);
    await expect(detached).rejects.toMatchObject({ code: 'LEASE_LOST' });
    delete here.detours.move;
    await clock.pass(1_000);
    await (await there.acquire('k')).release();
  });

  it('undoes a command that the store executes after the lease has ended', async () => {
    const { clock, here, there } = start();
    const lease = await here.acquire('k', { ttl: '1s' });
    const late = new LateCommand();
    here.detours.move = late.detour;
    const detached = lease.detach({ ttl: '10m' });
    detached.catch(() => undefined);
    await clock.pass(990);
    late.execute();
    await clock.pass(3_000);
    await expect(detached).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await (await there.acquire('k')).release();
  });

  it('refuses a second call before the first one has ended', async () => {
    const { here, there } = start();
    const lease = await here.acquire('k');
    const [first, second] = await Promise.allSettled([lease.detach({ ttl: '10m' }), lease.detach({ ttl: '10m' })]);
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'LOCK_USAGE' } });
    expect(first.status).toBe('fulfilled');
    const ticket = (first as PromiseFulfilledResult<string>).value;
    expect((await attach(there, ticket)).isHeld()).toBe(true);
  });

  it('rejects, and holds nothing, when release() comes before the command', async () => {
    const { clock, here, there } = start();
    const lease = await here.acquire('k');
    const late = new LateAnswers();
    here.detours.keep = late.detour;
    const detached = lease.detach({ ttl: '10m' });
    detached.catch(() => undefined);
    await clock.pass(1);
    await lease.release();
    late.arrive();
    await expect(detached).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'released' });
    await (await there.acquire('k')).release();
  });

  it('keeps the ticket valid when release() comes after the command', async () => {
    const { clock, here, there } = start();
    const lease = await here.acquire('k');
    const late = new LateAnswers();
    here.detours.move = late.detour;
    const detached = lease.detach({ ttl: '10m' });
    await clock.pass(1);
    const released = lease.release();
    await clock.pass(1);
    late.arrive();
    await released;
    expect((await attach(there, await detached)).isHeld()).toBe(true);
  });

  it('releases the other keys when one of them is lost', async () => {
    const { clock, world, here, there } = start();
    const call = { options: LOCK_DEFAULTS, name: 'unit', scoped: false };
    const lease = await here.engine.acquire({ ...call, key: ['a', 'b', 'c'] });
    world.state.overwrite('b', undefined);
    await expect(lease.detach({ ttl: '10m' })).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'deleted' });
    expect([lease.isHeld(), lease.signal.aborted]).toEqual([false, true]);
    await lease.release();
    await clock.pass(100);
    for (const key of ['a', 'b', 'c']) await (await there.acquire(key)).release();
  });

  it('counts detached leases for maxKept until they end or their ticket is used here', async () => {
    const { clock, here, there } = start({ maxKept: 2 });
    const detach = async (key: string): Promise<string> => (await here.acquire(key)).detach({ ttl: '10s' });
    const tickets = [await detach('a'), await detach('b')];
    const lease = await here.acquire('c');
    await expect(lease.detach({ ttl: '10s' })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await expect(here.acquire('d', { minHold: '1s' })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(lease.isHeld()).toBe(true);
    await here.engine.cancel(tickets[0]);
    await lease.detach({ ttl: '10s' });
    await (await attach(here, tickets[1])).release();
    // A lease that travels on to another process counts until its ttl has passed.
    await attach(there, await detach('d'));
    await expect(detach('e')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await clock.pass(10_001);
    await detach('f');
    await detach('g');
  });
});

describe('attach()', () => {
  const detached = async (settings: Partial<LockEngineSettings> = {}) => {
    const world = start(settings);
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

  it('refuses a semaphore that this process uses with another number of permits', async () => {
    const { here, there } = start();
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
});

describe('cancel()', () => {
  it('repeats the release in the background when the store does not respond', async () => {
    const { clock, here, there } = start();
    const ticket = await (await here.acquire('k')).detach({ ttl: '10m' });
    there.detours.release = away;
    await expect(there.engine.cancel(ticket)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    delete there.detours.release;
    await expect(attach(here, ticket)).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'released' });
    await clock.pass(1_000);
    await (await here.acquire('k')).release();
  });
});
