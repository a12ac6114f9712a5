import { LateAnswers } from '../../../../test/support/held-up-store.js';
import { codeOf, typesOf } from '../../../../test/support/manual-world.js';
import { attach, away, startProcesses } from '../../../../test/support/ticket-world.js';
import { LOCK_DEFAULTS } from '../options/lock-options.js';
import { throwIfLost } from './lease/loss.js';

describe('attach() whose signal aborts, and which cannot give the lease back', () => {
  const failed = async () => {
    const { clock, here, there } = startProcesses();
    const ticket = await (await here.acquire('k')).detach({ ttl: '10m' });
    const leaves = new AbortController();
    there.detours.move = async (ask) => {
      const answer = await ask();
      there.detours.move = away;
      leaves.abort();
      return answer;
    };
    const call = { options: LOCK_DEFAULTS, scoped: false, signal: leaves.signal };
    expect(await codeOf(there.engine.attach(ticket, call))).toBe('LOCK_ABORTED');
    delete there.detours.move;
    return { clock, here, there, ticket };
  };

  it('can be repeated', async () => {
    const { clock, there, ticket } = await failed();
    await clock.pass(3_000);
    expect((await attach(there, ticket)).isHeld()).toBe(true);
  });

  it('can be cancelled', async () => {
    const { clock, here, there, ticket } = await failed();
    await there.engine.cancel(ticket);
    await clock.pass(2_000);
    await (await here.acquire('k')).release();
  });
});

describe('A lease whose maxHold passes in a pause before its release', () => {
  it.each(['exclusive', 'semaphore', 'read'] as const)('is lost (%s)', async (kind) => {
    const { clock, here } = startProcesses();
    const permits = kind === 'semaphore' ? { permits: 1 } : {};
    const options = { kind, ...permits, ttl: '30s', maxHold: '1s', release: 'expire', onLost: 'throw' } as const;
    const lease = await here.acquire('k', options);
    clock.jump(20_000);
    expect(lease.isHeld()).toBe(false);
    await lease.release();
    expect(typesOf(here)).toEqual(['acquired', 'lost']);
    expect(lease.signal.reason).toMatchObject({ reason: 'maxHold' });
    expect(() => throwIfLost(lease, lease.call.options)).toThrow();
  });
});

describe('A downgrade whose reply comes after the engine was closed', () => {
  it('still notifies the work before the read lease ends', async () => {
    const { clock, here } = startProcesses();
    const lease = await here.acquire('k', { kind: 'write', ttl: '3s', scoped: true });
    const { signal } = lease;
    const late = new LateAnswers();
    here.detours.downgrade = late.detour;
    const drained = here.engine.drain(10);
    await clock.pass(490);
    const end = codeOf(lease.downgrade());
    await clock.pass(60);
    await drained;
    await here.engine.close();
    late.arrive();
    await end;
    await clock.pass(10_000);
    expect([lease.isHeld(), signal.aborted]).toEqual([false, true]);
  });
});

describe('A lease that ends while its token is replaced', () => {
  it('rejects downgrade() after maxHold', async () => {
    const { clock, here } = startProcesses();
    const lease = await here.acquire('k', { kind: 'write', maxHold: '10s' });
    const late = new LateAnswers();
    here.detours.downgrade = late.detour;
    await clock.pass(9_800);
    const end = codeOf(lease.downgrade());
    await clock.pass(80);
    expect(lease.signal.aborted).toBe(true);
    late.arrive();
    expect(await end).toBe('LEASE_LOST');
  });

  it('rejects downgrade() after the shutdown has ended the lease', async () => {
    const { clock, here } = startProcesses();
    const lease = await here.acquire('k', { kind: 'write' });
    const late = new LateAnswers();
    here.detours.downgrade = late.detour;
    const end = codeOf(lease.downgrade());
    const drained = here.engine.drain(50);
    await clock.pass(100);
    expect(lease.signal.aborted).toBe(true);
    late.arrive();
    await clock.pass(600);
    await drained;
    expect(await end).toBe('LOCK_SHUTDOWN');
  });

  it('rejects detach() after maxHold, with one event', async () => {
    const { clock, here } = startProcesses();
    const lease = await here.acquire('k', { maxHold: '60s' });
    const late = new LateAnswers();
    here.detours.move = late.detour;
    await clock.pass(59_400);
    const end = codeOf(lease.detach({ ttl: 599 }));
    while (!lease.signal.aborted) await clock.pass(1);
    late.arrive();
    expect([await end, typesOf(here)]).toEqual(['LEASE_LOST', ['acquired', 'lost']]);
  });
});

describe('The time that attach() takes', () => {
  it.each(['mark', 'move'] as const)('counts for maxHold (%s)', async (command) => {
    const { clock, here, there } = startProcesses();
    const ticket = await (await here.acquire('k')).detach({ ttl: '30s' });
    const start = clock.now();
    there.detours[command] = async (ask) => {
      const answer = await ask();
      clock.jump(5_000);
      delete there.detours[command];
      return answer;
    };
    const lease = await attach(there, ticket, { ttlMs: 30_000, maxHoldMs: 10_000 });
    while (lease.isHeld()) await clock.pass(10);
    expect(clock.now() - start).toBeLessThanOrEqual(10_000);
  });

  it('does not prolong a ticket that an aborted call gives back', async () => {
    const { clock, here, there } = startProcesses();
    const ticket = await (await here.acquire('k', { maxHold: '11s' })).detach({ ttl: '10s' });
    const leaves = new AbortController();
    const late = new LateAnswers();
    there.detours.move = late.detour;
    const call = { options: LOCK_DEFAULTS, scoped: false, signal: leaves.signal };
    const end = codeOf(there.engine.attach(ticket, call));
    await clock.pass(5_000);
    leaves.abort();
    delete there.detours.move;
    late.arrive();
    expect(await end).toBe('LOCK_ABORTED');
    await clock.pass(6_100);
    await (await here.acquire('k')).release();
  });
});

describe('attach() on a store that answers slowly', () => {
  it('sends four commands, and begins with what they leave', async () => {
    const { clock, here, there } = startProcesses();
    const ticket = await (await here.acquire('k')).detach({ ttl: '10m' });
    let moves = 0;
    there.detours.move = async (ask) => {
      moves += 1;
      const answer = await ask();
      await new Promise<void>((resolve) => void clock.after(400, resolve));
      return answer;
    };
    const attached = attach(there, ticket, { ttlMs: 1_000 });
    await clock.pass(2_000);
    expect((await attached).isHeld()).toBe(true);
    expect(moves).toBe(4);
  });
});

describe('A kept key at shutdown', () => {
  it('is left to the rest of minHold, although the first command fails in passing', async () => {
    const { clock, here, there } = startProcesses();
    await (await here.acquire('k', { ttl: '3s', minHold: '60s' })).release();
    let failures = 1;
    here.detours.renew = async (ask) => ((failures -= 1) >= 0 ? away() : ask());
    const drained = here.engine.drain(5_000);
    await clock.pass(6_000);
    await drained;
    await here.engine.close();
    expect(await codeOf(there.acquire('k'))).toBe('LOCK_CONTENDED');
  });
});

describe('A shutdown while the store is away', () => {
  it('does not try for longer than the key can be there', async () => {
    const { clock, here } = startProcesses();
    await (await here.acquire('k', { ttl: '3s', minHold: '60s' })).release();
    here.detours.renew = away;
    let ended = false;
    const drained = here.engine.drain(30_000).then(() => (ended = true));
    await clock.pass(3_500);
    expect(ended).toBe(true);
    await drained;
  });
});

describe('maxKept', () => {
  it('lets a process use its own ticket, which it already counts', async () => {
    const { here } = startProcesses({ maxKept: 1 });
    const ticket = await (await here.acquire('k')).detach({ ttl: '10s' });
    expect((await attach(here, ticket, { minHoldMs: 1_000 })).isHeld()).toBe(true);
  });
});

describe('The reason of a loss', () => {
  it('a lease with renew: false whose ttl passes during a downgrade has expired', async () => {
    const { clock, here } = startProcesses();
    const lease = await here.acquire('k', { kind: 'write', ttl: '1s', renew: false });
    here.detours.downgrade = new LateAnswers().detour;
    void codeOf(lease.downgrade());
    await clock.pass(1_000);
    expect(lease.signal.reason).toMatchObject({ reason: 'expired' });
  });
});
