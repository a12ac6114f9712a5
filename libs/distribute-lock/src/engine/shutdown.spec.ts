import { ManualClock } from '../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';

describe('LockEngine.drain with running work', () => {
  const start = async () => {
    const clock = new ManualClock();
    const { engine, acquire } = new ManualWorld(clock).process();
    const lease = await acquire('k', { scoped: true });
    let drained = 0;
    const drain = (): void => void engine.drain(100).then(() => (drained += 1));
    return { clock, engine, lease, drain, drained: () => drained };
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
});
