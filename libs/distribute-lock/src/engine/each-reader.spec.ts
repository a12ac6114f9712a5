import { LateAnswers } from '../../../../test/support/held-up-store.js';
import { ManualClock, settled } from '../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';
import { LockStoreError } from '../store/lock-store.js';

const kind = 'read';

describe('A lease that readers share', () => {
  const start = () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    return { clock, here: world.process(), there: world.process() };
  };

  it('is proven no longer than an unconfirmed shortening allows, because that may be executed late', async () => {
    const { clock, here, there } = start();
    const short = await here.acquire('k', { kind, ttl: 1_000 });
    const visitor = await here.acquire('k', { kind, ttl: 60_000 });
    let execute: (() => Promise<unknown>) | undefined;
    here.detours.renew = async (ask) => {
      if (execute !== undefined) return ask();
      execute = ask;
      throw new LockStoreError('no reply', true);
    };
    await visitor.release();
    await clock.pass(500);
    expect(execute).toBeDefined();
    const next = await here.acquire('k', { kind, ttl: 60_000 });
    expect([short.isHeld(), next.isHeld()]).toEqual([true, true]);

    await execute!();
    here.detours.renew = () => new Promise(() => undefined);
    await clock.pass(1_100);

    await (await there.acquire('k', { kind: 'write' })).release();
    expect([short.isHeld(), next.isHeld()]).toEqual([false, false]);
  });

  it('regains its full length once the shortening is confirmed', async () => {
    const { clock, here } = start();
    const short = await here.acquire('k', { kind, ttl: 1_000 });
    const visitor = await here.acquire('k', { kind, ttl: 60_000 });
    await visitor.release();
    await clock.pass(500);
    const next = await here.acquire('k', { kind, ttl: 60_000 });
    expect(next.remainingMs()).toBeGreaterThan(59_000);
    expect(short.remainingMs()).toBeLessThanOrEqual(1_000);
  });

  it('is not shortened while a reader needs its length', async () => {
    const { clock, here, there } = start();
    const long = await here.acquire('k', { kind, ttl: 60_000 });
    const short = await here.acquire('k', { kind, ttl: 1_000 });
    await short.release();
    await clock.pass(5_000);
    here.detours.renew = () => new Promise(() => undefined);
    await clock.pass(20_000);
    expect(long.isHeld()).toBe(true);
    await expect(there.acquire('k', { kind: 'write' })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
  });

  it.each([
    ['a renewal', 500],
    ['an extension', 10],
  ])('loses a reader for good whose time passed before the reply to %s', async (of, passedMs) => {
    const { clock, here } = start();
    const short = await here.acquire('k', { kind, ttl: 1_000 });
    const long = await here.acquire('k', { kind, ttl: 60_000 });
    await clock.pass(5);
    const late = new LateAnswers();
    here.detours.renew = late.detour;
    if (of === 'an extension') void long.extend(60_000);
    await clock.pass(passedMs);
    expect(late.size).toBe(1);
    clock.jump(987 - passedMs);
    expect([short.isHeld(), long.isHeld()]).toEqual([false, true]);

    late.arrive();
    await settled();
    expect([short.isHeld(), long.isHeld()]).toEqual([false, true]);
    expect(short.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
  });
});
