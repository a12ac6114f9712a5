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
