import { setTimeout as sleep } from 'node:timers/promises';

import { useLockWorld } from '../fault/support/use-lock-world.js';
import { eventually } from '../support/eventually.js';

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

describe('a process that was stopped, and whose connections are healthy', () => {
  const world = useLockWorld();

  // Without a request, no reply shows that the connection is alive, and it is closed.
  it.each([2, 3] as const)('sends a request on that for messages (RESP%i)', async (protocol) => {
    const proxy = await world.proxy();
    const stopped = await world.process({ host: '127.0.0.1', port: Number(new URL(proxy.url).port), protocol });
    const key = world.newKey();
    const lease = await world.locks().acquire(key, { ttl: '30s' });
    const waiting = stopped.do('acquire', { key, wait: 20_000 });
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    const messages = await proxy.connection('inbox');
    await lease.release();
    await waiting;
    stopped.pause();
    const { requests } = messages;
    await sleep(STOPPED_MS);
    stopped.resume();
    await eventually(() => expect(messages.requests).toBeGreaterThan(requests));
  });
});
