import { jest } from '@jest/globals';

import { ManualClock } from '../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';

describe('A caller whose wait ends while its process cannot subscribe', () => {
  it('leaves the queue although its last command does not wait', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const there = world.process();
    await there.acquire('k', { ttl: '30s' });
    jest.spyOn(world.store, 'subscribe').mockReturnValue(new Promise(() => undefined));
    const here = world.process();
    const waiting = expect(here.acquire('k', { wait: 650 })).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
    await expect(here.acquire('k')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    expect(await there.engine.inspect('k')).toMatchObject({ waiting: 1 });
    await clock.pass(660);
    await waiting;
    expect(await there.engine.inspect('k')).toMatchObject({ waiting: 0 });
  });
});

describe('A caller whose wait ends while a release requests its place', () => {
  it('leaves the queue although no answer has reported the place', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [here, there] = [world.process(), world.process()];
    const lease = await here.acquire('k', { ttl: '30s' });
    const next = there.acquire('k', { wait: '30s', ttl: '30s' });
    await clock.pass(1);
    const call = here.acquire('k', { wait: 50 });
    const refused = expect(call).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
    // The connection breaks after the release was executed, and the second copy finds no lock.
    here.detours.release = async (ask) => {
      await ask();
      await new Promise<void>((resolve) => void clock.after(100, resolve));
      return { outcome: 'lost', resent: true };
    };
    await clock.pass(20);
    void lease.release();
    await clock.pass(1);
    delete here.detours.release;
    expect(await there.engine.inspect('k')).toMatchObject({ waiting: 1 });
    await clock.pass(1_000);
    await refused;
    expect(await there.engine.inspect('k')).toMatchObject({ waiting: 0 });
    await (await next).release();
  });
});
