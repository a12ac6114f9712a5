import { setTimeout as sleep } from 'node:timers/promises';

import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import { PREFIX, type Locks } from './support/lock-engine.js';
import { startMessageEater } from './support/message-eater.js';
import { monotonicMs } from '../support/monotonic.js';
import { median } from './support/median.js';
import { useLockWorld } from './support/use-lock-world.js';

const wait = '20s';
const SAFETY_NET_MS = 2_500;

describe('P12: a waiter wakes', () => {
  const world = useLockWorld();

  /** How long after the release of one side the waiter of the other side gets the lock. */
  async function handOver(holder: Locks, waiter: Locks, between: (key: string) => unknown = () => {}): Promise<number> {
    const key = world.newKey();
    const lease = await holder.acquire(key, { ttl: '30s' });
    const acquired = waiter.acquire(key, { wait }).then((next) => ({ next, at: monotonicMs() }));
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    await between(key);
    const releasedAt = monotonicMs();
    await lease.release();
    const { next, at } = await acquired;
    await next.release();
    return at - releasedAt;
  }

  it('by message within 50 ms, in the median of 25', async () => {
    const [holder, waiter] = [world.locks(), world.locks()];
    const took: number[] = [];
    for (let i = 0; i < 25; i += 1) took.push(await handOver(holder, waiter));
    expectBelow(median(took), 50);
  });

  it('by its heartbeat when the message is lost', async () => {
    const eater = await startMessageEater(world.server.port);
    const tookMs = await handOver(world.locks(), world.locks(eater.url));
    expect(eater.eaten).toBeGreaterThan(0);
    expectBelow(tookMs, SAFETY_NET_MS);
  });

  it.each([2, 3] as const)('by polling when no message arrives for some heartbeats, RESP%i', async (protocol) => {
    const eater = await startMessageEater(world.server.port);
    const [holder, waiter] = [world.locks(), world.locks({ port: eater.port, protocol })];
    const lease = await holder.acquire('unheard', { ttl: '30s' });
    const waiting = waiter.acquire('unheard', { wait });
    await eventually(() => {
      expect(waiter.events.find(({ type }) => type === 'degraded')?.error?.message).toContain('no message arrives');
    }, 10_000);
    await lease.release();
    await (await waiting).release();
    const took: number[] = [];
    for (let i = 0; i < 5; i += 1) took.push(await handOver(holder, waiter));
    expectBelow(median(took), 400);
  });

  it('by its heartbeat when the connection of its subscription is killed with the release', async () => {
    const proxy = await world.proxy();
    const waiter = world.locks(proxy.url);
    await waiter.engine.connect();
    const tookMs = await handOver(world.locks(), waiter, () => proxy.cut());
    expectBelow(tookMs, SAFETY_NET_MS);
  });

  it('by its heartbeat when the ACL forbids the holder to publish', async () => {
    await world.client.call('ACL', 'SETUSER', 'mute', 'on', '>secret', '~*', 'resetchannels', '+@all', '-publish');
    const holder = world.locks({ host: '127.0.0.1', port: world.server.port, username: 'mute', password: 'secret' });
    expectBelow(await handOver(holder, world.locks()), SAFETY_NET_MS);
  });

  it('by its heartbeat when a foreign holder leaves without a message', async () => {
    const waiter = world.locks();
    const key = world.newKey();
    await world.client.set(PREFIX + key, 'somebody else');
    const acquired = waiter.acquire(key, { wait });
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    await world.client.del(PREFIX + key);
    const goneAt = monotonicMs();
    const lease = await acquired;
    expectBelow(monotonicMs() - goneAt, SAFETY_NET_MS);
    await lease.release();
  });

  it('with at most two commands a second while it waits', async () => {
    const [holder, waiter] = [world.locks(), world.locks()];
    const key = world.newKey();
    const lease = await holder.acquire(key, { ttl: '60s' });
    const waits = Array.from({ length: 100 }, () => waiter.acquire(key, { wait }).then((next) => next.release()));
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    const before = await scriptsRun();
    await sleep(3_000);
    expect((await scriptsRun()) - before).toBeLessThanOrEqual(6);
    await lease.release();
    await Promise.all(waits);
  });

  async function scriptsRun(): Promise<number> {
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await world.client.info('commandstats'))?.[1]);
  }
});
