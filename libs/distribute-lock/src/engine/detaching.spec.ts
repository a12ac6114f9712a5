import { jest } from '@jest/globals';

import { LateAnswers, LateCommand } from '../../../../test/support/held-up-store.js';
import { acquireKeys, attach, away, loseReply, refuse, startProcesses } from '../../../../test/support/ticket-world.js';
import { runHolding } from './lease/held-leases.js';

describe('lease.detach()', () => {
  it('relies on the lease for no longer than the ticket lasts when the reply is lost', async () => {
    const { clock, here, there } = startProcesses();
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
    const { clock, here, there } = startProcesses();
    const lease = await here.acquire('k');
    here.detours.move = loseReply;
    const detached = lease.detach({ ttl: '10m' });
    await clock.pass(60);
    delete here.detours.move;
    await clock.pass(200);
    expect((await attach(there, await detached)).isHeld()).toBe(true);
  });

  it('leaves the lease as it is when the store refuses the command', async () => {
    const { clock, here } = startProcesses();
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
    const { here } = startProcesses();
    const lease = await here.acquire('k');
    here.detours.keep = away;
    await expect(lease.detach({ ttl: '1s' })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(lease.isHeld()).toBe(true);
  });

  it('releases the key when no process can know the ticket', async () => {
    const { clock, here, there } = startProcesses();
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
    const { clock, here, there } = startProcesses();
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
    const { here, there } = startProcesses();
    const lease = await here.acquire('k');
    const [first, second] = await Promise.allSettled([lease.detach({ ttl: '10m' }), lease.detach({ ttl: '10m' })]);
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'LOCK_USAGE' } });
    expect(first.status).toBe('fulfilled');
    const ticket = (first as PromiseFulfilledResult<string>).value;
    expect((await attach(there, ticket)).isHeld()).toBe(true);
  });

  it('rejects, and holds nothing, when release() comes before the command', async () => {
    const { clock, here, there } = startProcesses();
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
    const { clock, here, there } = startProcesses();
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
    const { clock, world, here, there } = startProcesses();
    const lease = await acquireKeys(here, ['a', 'b', 'c']);
    world.state.overwrite('b', undefined);
    await expect(lease.detach({ ttl: '10m' })).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'deleted' });
    expect([lease.isHeld(), lease.signal.aborted]).toEqual([false, true]);
    await lease.release();
    await clock.pass(100);
    for (const key of ['a', 'b', 'c']) await (await there.acquire(key)).release();
  });

  it('counts detached leases for maxKept until they end or their ticket is used here', async () => {
    const { clock, here, there } = startProcesses({ maxKept: 2 });
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

  it('refuses nested calls until it has ended, so that none works beside the next holder', async () => {
    const { clock, here } = startProcesses();
    const lease = await here.acquire('k');
    const late = new LateAnswers();
    here.detours.keep = late.detour;
    const detached = lease.detach({ ttl: '10m' });
    const inner = runHolding(lease, () => here.acquire('k', { reentrant: true }));
    await expect(inner).rejects.toMatchObject({ code: 'LOCK_USAGE' });
    await clock.pass(1);
    late.arrive();
    expect(await detached).toMatch(/^lt1_/);
  });

  it('refuses a downgrade until it has ended', async () => {
    const { clock, here } = startProcesses();
    const lease = await here.acquire('k', { kind: 'write' });
    const late = new LateAnswers();
    here.detours.keep = late.detour;
    const detached = lease.detach({ ttl: '10m' });
    await expect(lease.downgrade()).rejects.toMatchObject({ code: 'LOCK_USAGE' });
    await clock.pass(1);
    late.arrive();
    expect(await detached).toMatch(/^lt1_/);
  });

  it('counts the time before earlier tickets for maxHold', async () => {
    const { clock, here, there } = startProcesses();
    const maxHoldMs = 60_000;
    const lease = await here.acquire('k', { maxHold: '60s' });
    await clock.pass(20_000);
    const first = await lease.detach({ ttl: '30s' });
    await clock.pass(20_000);
    const second = await (await attach(there, first, { maxHoldMs, ttlMs: 3_000 })).detach({ ttl: '5s' });
    await clock.pass(1_000);
    const last = await attach(here, second, { maxHoldMs, ttlMs: 3_000 });
    await clock.pass(18_000);
    expect(last.isHeld()).toBe(true);
    await clock.pass(1_500);
    expect(last.isHeld()).toBe(false);
  });

  it('keeps the key locked no longer than maxHold when the store is slow', async () => {
    const { clock, here, there } = startProcesses();
    const lease = await here.acquire('k', { maxHold: '60s' });
    await clock.pass(50_000);
    const late = new LateAnswers();
    here.detours.keep = late.detour;
    const detached = lease.detach({ ttl: 9_900 });
    await clock.pass(5_000);
    late.arrive();
    await detached;
    await clock.pass(5_500);
    await (await there.acquire('k')).release();
  });

  it('counts a lease with minHold for maxKept until its ticket is used', async () => {
    const { clock, here } = startProcesses({ maxKept: 1 });
    for (let times = 0; times < 3; times += 1) {
      const lease = await here.acquire('k', { minHold: '1s' });
      await here.engine.cancel(await lease.detach({ ttl: '1s' }));
      await clock.pass(10);
    }
  });

  it('leaves no timer behind for a ticket that was used here', async () => {
    const { here } = startProcesses();
    const added = jest.spyOn(here.engine.timers, 'add');
    const ticket = await (await here.acquire('k')).detach({ ttl: '24h' });
    const alarms = added.mock.calls.filter(([, ms]) => ms === 86_400_000).map(([timer]) => timer);
    expect(alarms.map(({ isScheduled }) => isScheduled)).toEqual([true]);
    await here.engine.cancel(ticket);
    expect(alarms.map(({ isScheduled }) => isScheduled)).toEqual([false]);
  });

  it('continues when the application forgets the handle before its end', async () => {
    const { clock, here, there } = startProcesses();
    const lease = await here.acquire('k');
    const late = new LateAnswers();
    here.detours.keep = late.detour;
    const detached = lease.detach({ ttl: '10m' });
    await clock.pass(1);
    lease.forgotten();
    late.arrive();
    expect((await attach(there, await detached)).isHeld()).toBe(true);
  });

  it('ends a forgotten lease that was not detached', async () => {
    const { clock, here, there } = startProcesses();
    const lease = await here.acquire('k');
    here.detours.keep = away;
    const detached = lease.detach({ ttl: '10m' });
    lease.forgotten();
    await expect(detached).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await clock.pass(10);
    await (await there.acquire('k')).release();
  });

  it('ends the lease when the store has executed a command that the server answers with an error', async () => {
    const { clock, here, there } = startProcesses();
    const lease = await here.acquire('k');
    here.detours.move = async (ask) => {
      await ask();
      return refuse();
    };
    await expect(lease.detach({ ttl: '10m' })).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(lease.isHeld()).toBe(false);
    await clock.pass(10);
    await (await there.acquire('k')).release();
  });

  it('rejects with the loss of the lease when only a part of its keys could be detached', async () => {
    const { clock, here, there } = startProcesses();
    const lease = await acquireKeys(here, ['a', 'b']);
    let moves = 0;
    here.detours.move = async (ask) => ((moves += 1) === 2 ? refuse() : ask());
    await expect(lease.detach({ ttl: '10m' })).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect([lease.isHeld(), lease.signal.aborted]).toEqual([false, true]);
    await lease.release();
    await clock.pass(10);
    for (const key of ['a', 'b']) await (await there.acquire(key)).release();
  });

  it('is not ended by a shutdown', async () => {
    const { clock, here, there } = startProcesses();
    const lease = await here.acquire('k');
    const late = new LateAnswers();
    here.detours.move = late.detour;
    const detached = lease.detach({ ttl: '10m' });
    await clock.pass(1);
    const drained = here.engine.drain(100);
    await clock.pass(300);
    late.arrive();
    const ticket = await detached;
    await drained;
    expect(lease.signal.aborted).toBe(false);
    expect((await attach(there, ticket)).isHeld()).toBe(true);
  });
});
