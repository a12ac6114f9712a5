import { LateAnswers } from '../../../../test/support/held-up-store.js';
import { ManualClock } from '../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';
import type { Lease } from './lease/lease.js';
import { runHolding } from './lease/held-leases.js';
import type { LockOptions } from '../options/lock-options.js';

describe('LockEngine.drain with running work', () => {
  const start = async () => {
    const clock = new ManualClock();
    const { engine, acquire } = new ManualWorld(clock).process();
    const lease = await acquire('k', { scoped: true });
    let drained = 0;
    const drain = (): void => void engine.drain(100).then(() => (drained += 1));
    return { clock, engine, acquire, lease, drain, drained: () => drained };
  };

  it('runs once and resolves for every caller', async () => {
    const { clock, drain, drained, lease } = await start();
    drain();
    drain();
    await clock.pass(90);
    expect(drained()).toBe(0);
    await clock.pass(600);
    expect(drained()).toBe(2);
    drain();
    await clock.pass(1);
    expect(drained()).toBe(3);
    expect(lease.isHeld()).toBe(true);
  });

  it('resolves at once when the engine is closed during or before the drain', async () => {
    const { clock, engine, drain, drained } = await start();
    drain();
    await engine.close();
    await clock.pass(1);
    expect(drained()).toBe(1);

    const closed = await start();
    await closed.engine.close();
    closed.drain();
    await closed.clock.pass(1);
    expect(closed.drained()).toBe(1);
  });

  it('does not end a lease while a nested call still works under it', async () => {
    const { clock, acquire, lease, drain, drained } = await start();
    const nested = { reentrant: true } as const;
    const work = await runHolding(lease, () => acquire('k', { ...nested, scoped: true }));
    const open: Lease = await runHolding(lease, () => acquire('k', nested));
    await lease.release();
    drain();
    await clock.pass(200);
    expect([work.isHeld(), work.signal.aborted, open.isHeld()]).toEqual([true, false, true]);
    await work.release();
    await clock.pass(600);
    expect(drained()).toBe(1);
    // Without work, the shutdown ends the lease as it ends every other lease of `acquire()`.
    const again = await start();
    const idle: Lease = await runHolding(again.lease, () => again.acquire('k', nested));
    await again.lease.release();
    again.drain();
    await again.clock.pass(200);
    expect(idle.signal.reason).toMatchObject({ code: 'LOCK_SHUTDOWN' });
  });
});

describe('Work that continues after LockEngine.close', () => {
  const start = () => {
    const clock = new ManualClock();
    const { engine, acquire } = new ManualWorld(clock).process();
    const work = (options: LockOptions) => acquire('k', { ...options, scoped: true });
    return { clock, engine, work };
  };

  it('learns that the shutdown ended its lease beside a reader with a longer ttl', async () => {
    const { clock, engine, work } = start();
    const long = await work({ kind: 'read', ttl: '1h' });
    const short = await work({ kind: 'read', ttl: '3s' });
    await engine.close();
    await clock.pass(2_980);
    expect(short.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'shutdown' });
    expect(long.isHeld()).toBe(true);
  });

  it.each<[string, LockOptions]>([
    ['a reader beside a longer lease', { kind: 'read' }],
    ["release: 'expire'", { release: 'expire' }],
  ])('loses its lease when its maxHold has passed: %s', async (_, options) => {
    const { clock, engine, work } = start();
    const limited = await work({ ...options, ttl: '30s', maxHold: '2s' });
    await clock.pass(700);
    const other = options.kind === 'read' ? await work({ kind: 'read', ttl: '1h' }) : undefined;
    await engine.close();
    await clock.pass(1_300);
    expect(limited.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'maxHold' });
    expect(other?.isHeld()).not.toBe(false);
  });
});

describe('A key whose minHold has not passed when the application shuts down', () => {
  it.each([{ kind: 'exclusive' }, { kind: 'semaphore', permits: 1 }] as const)(
    'stays locked although another process asks for it during the shutdown ($kind)',
    async (kind) => {
      const clock = new ManualClock();
      const world = new ManualWorld(clock);
      const [here, there] = [world.process(), world.process()];
      const work = await here.acquire('k', { ...kind, scoped: true, minHold: '5s' });
      const other = await here.acquire('other', { scoped: true });
      void work.release();
      await clock.pass(10);
      void here.engine.drain(1_000);
      let acquired = false;
      const waiting = there.acquire('k', { ...kind, wait: '10s' }).finally(() => (acquired = true));
      await clock.pass(4_900);
      expect(acquired).toBe(false);
      await clock.pass(1_000);
      await (await waiting).release();
      await other.release();
    },
  );

  it('is left to its ttl before the drain ends', async () => {
    const clock = new ManualClock();
    const { engine, acquire, detours } = new ManualWorld(clock).process();
    for (const key of ['a', 'b']) await (await acquire(key, { minHold: '5s' })).release();
    const late = new LateAnswers();
    detours.renew = late.detour;
    let drained = false;
    void engine.drain(1_000).then(() => (drained = true));
    await clock.pass(900);
    expect([late.size, drained]).toEqual([2, false]);
    late.arrive();
    await clock.pass(1);
    expect(drained).toBe(true);
  });

  it('delays the drain no longer than a release does', async () => {
    const clock = new ManualClock();
    const { engine, acquire, detours } = new ManualWorld(clock).process();
    await (await acquire('k', { minHold: '5s' })).release();
    detours.renew = () => new Promise(() => undefined);
    let drained = false;
    void engine.drain(0).then(() => (drained = true));
    await clock.pass(500);
    expect(drained).toBe(true);
  });

  describe('and that readers of one process share', () => {
    const kind = 'read';
    const begin = () => {
      const clock = new ManualClock();
      const world = new ManualWorld(clock);
      const [here, there] = [world.process(), world.process()];
      const isFree = async (): Promise<boolean> => {
        const writer = await there.acquire('k', { kind: 'write' }).catch(() => undefined);
        await writer?.release();
        return writer !== undefined;
      };
      /** Another process gets the lock in that time, and not 100 ms earlier. */
      const expectFreeIn = async (ms: number): Promise<void> => {
        await clock.pass(ms - 100);
        expect(await isFree()).toBe(false);
        await clock.pass(110);
        expect(await isFree()).toBe(true);
      };
      return { clock, here, expectFreeIn };
    };

    it('stays locked for the longest minHold of its readers', async () => {
      const { here, expectFreeIn } = begin();
      const longest = await here.acquire('k', { kind, minHold: '5s' });
      const last = await here.acquire('k', { kind, minHold: '1s' });
      await longest.release();
      await last.release();
      await here.engine.drain(50);
      await here.engine.close();
      await expectFreeIn(5_000);
    });

    it('stays locked after the work of another reader', async () => {
      const { clock, here, expectFreeIn } = begin();
      await (await here.acquire('k', { kind, minHold: '5s' })).release();
      const working = await here.acquire('k', { kind, scoped: true });
      void here.engine.drain(1_000);
      await clock.pass(100);
      await working.release();
      await expectFreeIn(4_900);
    });

    it('stays locked when another reader outlasts the drain', async () => {
      const { clock, here, expectFreeIn } = begin();
      await (await here.acquire('k', { kind, ttl: '1s', minHold: '5s' })).release();
      await here.acquire('k', { kind, ttl: '1s', scoped: true });
      void here.engine.drain(1_000);
      await clock.pass(1_600);
      await here.engine.close();
      await expectFreeIn(3_400);
    });
  });
});

describe('The reason of a loss after the engine was closed', () => {
  it.each([
    [{}, 'shutdown'],
    [{ renew: false }, 'expired'],
    [{ maxHold: 5_000 }, 'maxHold'],
  ] as const)('is that of the options %j: %s', async (options, reason) => {
    const clock = new ManualClock();
    const { engine, acquire } = new ManualWorld(clock).process();
    const kinds = [{ kind: 'exclusive' }, { kind: 'read' }, { kind: 'semaphore', permits: 1 }] as const;
    const leases = await Promise.all(
      kinds.map((kind) => acquire(kind.kind, { ...kind, ...options, ttl: 10_000, scoped: true })),
    );
    await clock.pass(1_000);
    await engine.close();
    await clock.pass(10_000);
    const lost = { code: 'LEASE_LOST', reason };
    expect(leases.map(({ signal }) => signal.reason as unknown)).toMatchObject([lost, lost, lost]);
  });
});
