import { LateAnswers } from '../../../../test/support/held-up-store.js';
import { codeOf, typesOf } from '../../../../test/support/manual-world.js';
import { acquireKeys, attach, refuse, startProcesses } from '../../../../test/support/ticket-world.js';
import { LOCK_DEFAULTS } from '../options/lock-options.js';
import { runHolding } from './lease/held-leases.js';

describe('detach() of several keys, of which a later one is lost while the record is written', () => {
  const loseSecond = async (move?: typeof refuse) => {
    const { clock, world, here, there } = startProcesses();
    const lease = await acquireKeys(here, ['a', 'b']);
    const late = new LateAnswers();
    here.detours.keep = late.detour;
    if (move !== undefined) here.detours.move = move;
    const end = codeOf(lease.detach({ ttl: '24h' }));
    await clock.pass(1);
    await there.engine.forceRelease('b');
    await clock.pass(1);
    late.arrive();
    await clock.pass(1);
    return { clock, world, lease, end };
  };

  it('locks no key without a ticket', async () => {
    const { clock, world, lease, end } = await loseSecond();
    expect(await end).toBe('LEASE_LOST');
    await lease.release();
    await clock.pass(60_000);
    expect([world.state.leftMs('a'), world.state.leftMs('b')]).toEqual([-2, -2]);
  });

  it('leaves no unhandled rejection, with which Jest would fail', async () => {
    const { clock, end } = await loseSecond(refuse);
    expect(await end).not.toBe('resolved');
    await clock.pass(1_000);
    await new Promise((resolve) => setTimeout(resolve, 20));
  });
});

describe('downgrade() of several keys that rejects', () => {
  it('has changed no key when a nested call still writes one of them', async () => {
    const { clock, here, there } = startProcesses();
    const lease = await acquireKeys(here, ['a', 'b']);
    const inner = await runHolding(lease, () => here.acquire('b', { reentrant: true }));
    expect(await codeOf(lease.downgrade())).toBe('LOCK_USAGE');
    await clock.pass(10);
    const reader = await codeOf(there.acquire('a', { kind: 'read' }));
    expect([lease.isHeld(), reader]).toEqual([true, 'LOCK_CONTENDED']);
    await inner.release();
  });

  it('rejects with the loss of the key that was deleted', async () => {
    const { world, here } = startProcesses();
    const lease = await acquireKeys(here, ['a', 'b']);
    world.state.overwrite('b', undefined);
    await expect(lease.downgrade()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'deleted' });
    expect(lease.isHeld()).toBe(false);
  });

  it('does not stay held as a writer when the store refused one of the keys', async () => {
    const { clock, here, there } = startProcesses();
    const lease = await acquireKeys(here, ['a', 'b']);
    let calls = 0;
    here.detours.downgrade = async (ask) => ((calls += 1) === 2 ? refuse() : ask());
    expect(await codeOf(lease.downgrade())).not.toBe('resolved');
    await clock.pass(10);
    const reader = await codeOf(there.acquire('a', { kind: 'read' }));
    expect(lease.isHeld() && reader === 'resolved').toBe(false);
  });
});

describe('attach() of several keys', () => {
  it.each([2_500, 2_990])('begins with two thirds of the ttl after a pause of %d ms', async (pauseMs) => {
    const { clock, here, there } = startProcesses();
    const ticket = await (await acquireKeys(here, ['a', 'b'])).detach({ ttl: '10m' });
    let moves = 0;
    there.detours.move = async (ask) => {
      const answer = await ask();
      if ((moves += 1) === 2) clock.jump(pauseMs);
      return answer;
    };
    const lease = await attach(there, ticket, { ttlMs: 3_000 });
    expect(lease.remainingMs()).toBeGreaterThan(1_900);
  });
});

describe('attach() of several keys, of which one ends while the others are moved', () => {
  it('says that it has expired, and frees the others', async () => {
    const { clock, here, there } = startProcesses();
    const ticket = await (await acquireKeys(here, ['a', 'b'])).detach({ ttl: '10m' });
    const delays = [290, 700];
    there.detours.move = async (ask) => {
      const answer = await ask();
      const ms = delays.shift() ?? 1;
      await new Promise<void>((resolve) => void clock.after(ms, resolve));
      return answer;
    };
    const attached = attach(there, ticket, { ttlMs: 900 }).catch((error: unknown) => error);
    await clock.pass(1_500);
    expect(await attached).toMatchObject({ code: 'LEASE_LOST', reason: 'expired' });
    delete there.detours.move;
    await clock.pass(100);
    await (await here.acquire('b')).release();
  });
});

describe('maxKept', () => {
  it('limits a ticket for several keys', async () => {
    const { here, there } = startProcesses();
    const ticket = await (await acquireKeys(there, ['a', 'b', 'c'])).detach({ ttl: '10m' });
    const few = startProcesses({ maxKept: 1 });
    const own = await (await acquireKeys(few.there, ['a', 'b', 'c'])).detach({ ttl: '10m' });
    expect(await codeOf(attach(few.here, own, { minHoldMs: 1_000 }))).toBe('LOCK_UNAVAILABLE');
    expect((await attach(here, ticket, { minHoldMs: 1_000 })).isHeld()).toBe(true);
  });

  it('limits a call for several keys', async () => {
    const { here } = startProcesses({ maxKept: 1 });
    const options = { ...LOCK_DEFAULTS, minHoldMs: 1_000 };
    const end = codeOf(here.engine.acquire({ options, name: 'unit', scoped: false, key: ['a', 'b', 'c'] }));
    expect(await end).toBe('LOCK_UNAVAILABLE');
  });
});

describe('The events of detach() that succeeds for some keys only', () => {
  it('reports one end of each key when only a part of them could be detached', async () => {
    const { here } = startProcesses();
    const lease = await acquireKeys(here, ['a', 'b']);
    let moves = 0;
    here.detours.move = async (ask) => ((moves += 1) === 2 ? refuse() : ask());
    expect(await codeOf(lease.detach({ ttl: '10m' }))).toBe('LEASE_LOST');
    await lease.release();
    expect(typesOf(here).filter((type) => type !== 'acquired')).toHaveLength(2);
  });
});
