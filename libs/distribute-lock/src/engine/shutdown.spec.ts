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
