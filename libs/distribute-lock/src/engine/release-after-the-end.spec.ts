import { LateAnswers } from '../../../../test/support/held-up-store.js';
import { ManualClock } from '../../../../test/support/manual-clock.js';
import { ManualWorld, twoProcesses } from '../../../../test/support/manual-world.js';

describe('A lease that expires before its release and before its timer fires', () => {
  it.each(['exclusive', 'read', 'semaphore'] as const)('is lost (%s)', async (kind) => {
    const { clock, here, there } = twoProcesses();
    const options = { kind, ...(kind === 'semaphore' ? { permits: 1 } : {}) };
    const lease = await here.acquire('k', { ...options, ttl: 1_000 });
    clock.jump(1_001);
    await lease.release();
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
    expect(here.events.map(({ type }) => type)).toEqual(['acquired', 'lost']);
    await (await there.acquire('k', options)).release();
  });

  it('is lost, also where other readers of its process have a longer lease', async () => {
    const { clock, here } = twoProcesses();
    const long = await here.acquire('k', { kind: 'read', ttl: 5_000 });
    const short = await here.acquire('k', { kind: 'read', ttl: 1_000 });
    clock.jump(1_001);
    await short.release();
    expect(short.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
    expect(here.events.map(({ type }) => type)).toEqual(['acquired', 'acquired', 'lost']);
    expect(long.isHeld()).toBe(true);
    await long.release();
  });

  it('leaves no lock in the store, even after a late renewal', async () => {
    const { clock, here, there } = twoProcesses();
    const late = new LateAnswers();
    here.detours.renew = late.detour;
    const lease = await here.acquire('k', { ttl: 3_000 });
    await clock.pass(1_500);
    expect(late.size).toBe(1);
    clock.jump(1_500);
    await lease.release();
    late.arrive();
    await clock.pass(1);
    expect(lease.signal.aborted).toBe(true);
    await (await there.acquire('k')).release();
  });

  it('does not block the next caller of its process', async () => {
    const { clock, here } = twoProcesses();
    const lease = await here.acquire('k', { ttl: 1_000 });
    const next = here.acquire('k', { wait: '10s' });
    clock.jump(1_001);
    await lease.release();
    await clock.pass(10);
    expect((await next).isHeld()).toBe(true);
  });
});

describe('A lease that expires in the store between its release and the execution of that command', () => {
  it.each(['exclusive', 'read', 'semaphore'] as const)(
    'is not lost, because it lasted as long as the work (%s)',
    async (kind) => {
      const clock = new ManualClock();
      const here = new ManualWorld(clock).process();
      here.detours.release = async (ask) => {
        await new Promise<void>((resolve) => void clock.after(60, resolve));
        return ask();
      };
      const options = { kind, ...(kind === 'semaphore' ? { permits: 1 } : {}) };
      const lease = await here.acquire('k', { ...options, ttl: 1_000, renew: false });
      await clock.pass(950);
      const released = lease.release();
      await clock.pass(100);
      await released;
      expect(lease.signal.aborted).toBe(false);
      expect(here.events.map(({ type }) => type)).toEqual(['acquired', 'released']);
    },
  );

  it('is lost when the reply shows before its end that it was deleted', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [here, there] = [world.process(), world.process()];
    const lease = await here.acquire('k', { ttl: 1_000, renew: false });
    await there.engine.forceRelease('k');
    await clock.pass(950);
    await lease.release();
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
  });
});
