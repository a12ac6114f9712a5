import { setTimeout as sleep } from 'node:timers/promises';

import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startHaproxy, type Haproxy } from '../support/haproxy.js';
import { startLayer7Proxy } from '../support/layer7-proxy.js';
import { startRedisServer } from '../support/redis-server.js';
import { StallWatch } from '../support/stall-watch.js';
import { type Locks, openLocks, type StoreSettings } from './support/lock-engine.js';
import { monotonicMs } from '../support/monotonic.js';

const FAILOVERS = 20;
const TTL_MS = 900;

function open(url: string, store: StoreSettings = {}): Locks {
  const locks = openLocks(url, {}, store);
  onCleanup(() => locks.engine.close());
  return locks;
}

/** Two primaries that share no data, behind HAProxy: a failover loses all locks and counters. */
async function startPair(): Promise<Haproxy> {
  const primaries = await Promise.all([startRedisServer(), startRedisServer()]);
  return startHaproxy(...primaries.map(({ port }) => port));
}

async function tokenOf(locks: Locks, key: string): Promise<number> {
  const lease = await locks.acquire(key, { wait: '5s' });
  await lease.release();
  return lease.fencingToken;
}

const rising = (tokens: readonly number[]): readonly number[] => [...new Set(tokens)].sort((a, b) => a - b);

/**
 * Time from the failover until each of several holders is notified. A renewal that is sent during a failover may be lost, so a round
 * counts only if its failover was complete before the renewal.
 */
async function notifiedAfter(haproxy: Haproxy, locks: Locks): Promise<number[]> {
  const after: number[] = [];
  for (let i = 1; after.length < FAILOVERS; i += 1) {
    const acquiredAt = monotonicMs();
    const lease = await locks.acquire(`held-${i}`, { ttl: TTL_MS, wait: '5s' });
    await haproxy.failOverTo(i % 2);
    const failedAt = monotonicMs();
    if (!lease.signal.aborted)
      await new Promise((resolve) => lease.signal.addEventListener('abort', resolve, { once: true }));
    if (failedAt - acquiredAt < TTL_MS / 3) after.push(monotonicMs() - failedAt);
    await lease.release().catch(() => undefined);
  }
  return after;
}

describe('Twenty failovers of HAProxy between two primaries', () => {
  it('close the connection of the client: fencing tokens rise, and holders are notified with the next renewal', async () => {
    const haproxy = await startPair();
    const [one, other] = [open(haproxy.url), open(haproxy.url)];
    const tokens = [await tokenOf(one, 'key')];
    for (let i = 1; i <= FAILOVERS; i += 1) {
      await haproxy.failOverTo(i % 2);
      tokens.push(await tokenOf(other, 'key'), await tokenOf(one, 'key'));
    }
    expect(tokens).toEqual(rising(tokens));
    const after = await notifiedAfter(haproxy, one);
    expect(Math.max(...after)).toBeLessThan(TTL_MS);
  });
});

describe('Twenty failovers behind a proxy that keeps the connection of the client open', () => {
  /** Tokens of two clients, of which each uses one server, within the second in which the server may increment. */
  async function tokensAcross(store: StoreSettings): Promise<number[]> {
    const haproxy = await startPair();
    const proxy = await startLayer7Proxy(haproxy.port);
    const [one, other] = [open(proxy.url, store), open(proxy.url, store)];
    const tokens: number[] = [];
    await Promise.all([one.engine.connect(), other.engine.connect()]);
    for (let i = 1; i <= FAILOVERS; i += 1) {
      tokens.push(await tokenOf(i % 2 === 1 ? one : other, 'key'));
      await haproxy.failOverTo(i % 2);
      await sleep(20);
    }
    expect(proxy.closed).toBe(0);
    return tokens;
  }

  it('keep fencing tokens rising with serverMayChange', async () => {
    const tokens = await tokensAcross({ serverMayChange: true });
    expect(tokens).toEqual(rising(tokens));
  });

  it('keep fencing tokens rising with the slot layout', async () => {
    const tokens = await tokensAcross({ layout: 'slot' });
    expect(tokens).toEqual(rising(tokens));
  });

  it('make fencing tokens fall without either, so the option is needed', async () => {
    const tokens = await tokensAcross({});
    expect(tokens).not.toEqual(rising(tokens));
  });

  it('are noticed by the holder with its next renewal', async () => {
    const haproxy = await startPair();
    const proxy = await startLayer7Proxy(haproxy.port);
    const locks = open(proxy.url, { serverMayChange: true });
    const stalls = new StallWatch();
    const after = await notifiedAfter(haproxy, locks);
    expect(Math.max(...after)).toBeLessThan(TTL_MS / 3 + 200 + stalls.stop());
    await eventually(() => expect(tokenOf(locks, 'free')).resolves.toBeGreaterThan(0));
  });
});
