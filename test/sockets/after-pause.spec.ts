import { setTimeout as sleep } from 'node:timers/promises';

import { useLockWorld } from '../fault/support/use-lock-world.js';

/** Longer than the interval in which a process finds that it was stopped. */
const STOPPED_MS = 3_000;

describe('a process that was stopped, and whose connection died silently', () => {
  const world = useLockWorld();

  it('gets a lock at the first call', async () => {
    const proxy = await world.proxy();
    const stopped = await world.process(proxy.url);
    await stopped.do('acquire', { key: world.newKey() });
    const [connection] = proxy.open('commands');
    stopped.pause();
    await sleep(STOPPED_MS);
    connection.halfOpen();
    const first = stopped.do('acquire', { key: world.newKey(), wait: 0 });
    stopped.resume();
    await expect(first).resolves.toMatchObject({ fencingToken: expect.any(Number) as number });
    expect(connection.open).toBe(false);
  });
});
