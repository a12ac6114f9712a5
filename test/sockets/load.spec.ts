import { setTimeout as sleep } from 'node:timers/promises';

import type { Usage } from '../fault/support/load.js';
import { monotonicMs } from '../support/monotonic.js';
import { useLockWorld } from '../fault/support/use-lock-world.js';
import { LockProcess } from '../fault/support/lock-process.js';
import type { Connection } from '../fault/support/lock-engine.js';
import { expectBelow } from '../fault/support/bound.js';
import { startFaultProxy, type FaultProxy } from '../support/proxy/fault-proxy.js';

const MB = 1024 * 1024;
const TOKEN = /[\w-]{22}:[0-9a-z]+/g;

const world = useLockWorld();

/** Counts requests from this call on, by the owner tokens that they contain. */
function countByToken(proxy: FaultProxy) {
  const requests = new Map<string, number>();
  proxy.onRequest = (request) => {
    for (const token of new Set(request.match(TOKEN))) requests.set(token, (requests.get(token) ?? 0) + 1);
  };
  return requests;
}

const share = (from: Usage, to: Usage): number => (to.cpuMs - from.cpuMs) / (to.at - from.at);

/** Makes 200 calls a second for a minute without any reply. */
async function unanswered(connection: (proxy: FaultProxy) => Connection) {
  const proxy = await startFaultProxy(world.server.port);
  const process = await LockProcess.start(connection(proxy));
  await process.do('release', await process.do('acquire', { key: `warm-${proxy.port}`, wait: '5s' }));
  await process.do('usage', undefined);
  const tokens = countByToken(proxy);
  proxy.hold();
  const calls = process.do('calls', { key: `${proxy.port}`, perSecond: 200, forMs: 60_000, ttl: '30s', wait: 0 });
  await sleep(40_000);
  const at40 = await process.do('usage', undefined);
  await sleep(20_000);
  const at60 = await process.do('usage', undefined);
  const codes = await calls;
  const back = process.do('acquire', { key: `back-${proxy.port}`, wait: '60s' });
  const returnedAt = monotonicMs();
  await proxy.resume();
  const servedMs = (await back).at - returnedAt;
  await sleep(5_000);
  const after = await process.do('usage', undefined);
  const left = (await world.client.keys(`*lock:${proxy.port}-*`)).length;
  return { codes, at40, at60, after, servedMs, tokens, left, trouble: process.trouble.splice(0) };
}

/** Makes 30,000 calls within 10 s while connections are refused. */
async function refused() {
  const proxy = await startFaultProxy(world.server.port);
  const process = await LockProcess.start(proxy.url);
  await process.do('release', await process.do('acquire', { key: 'warm-refused', wait: '5s' }));
  proxy.goDown();
  const codes = await process.do('calls', {
    key: 'refused',
    perSecond: 3_000,
    forMs: 10_000,
    ttl: '10m',
    wait: 0,
  });
  await sleep(1_000);
  const quietFrom = await process.do('usage', undefined);
  await sleep(10_000);
  const quietTo = await process.do('usage', undefined);
  const waiter = process.do('acquire', { key: 'first', wait: '60s' });
  await sleep(2_000);
  await process.do('usage', undefined);
  const tokens = countByToken(proxy);
  const returnedAt = monotonicMs();
  await proxy.resume();
  const servedMs = (await waiter).at - returnedAt;
  await sleep(5_000);
  const { lagMs } = await process.do('usage', undefined);
  return { codes, quietCpu: share(quietFrom, quietTo), servedMs, lagMs, tokens, trouble: process.trouble.splice(0) };
}

describe('an outage under load', () => {
  let own: ReturnType<typeof unanswered>;
  let given: ReturnType<typeof unanswered>;
  let gone: ReturnType<typeof refused>;
  beforeAll(async () => {
    own = unanswered((proxy) => proxy.url);
    given = unanswered((proxy) => ({ application: proxy.url }));
    gone = refused();
    await Promise.allSettled([own, given, gone]);
  }, 150_000);

  describe.each([
    ['a connection of the library', () => own],
    ["the application's client", () => given],
  ])('200 calls/s for 60 s on a half-open connection: %s', (_, outcome) => {
    it('stays below 60 MB, and does not grow in the last 20 s', async () => {
      const { codes, at40, at60, trouble } = await outcome();
      expect(Object.keys(codes)).toEqual(['LOCK_UNAVAILABLE']);
      expectBelow(at60.memoryBytes / MB, 60);
      expectBelow((at60.memoryBytes - at40.memoryBytes) / MB, 1);
      expect(trouble).toEqual([]);
    });

    it('uses less than 30 % of a core', async () => {
      const { at40, at60 } = await outcome();
      expect(share(at40, at60)).toBeLessThan(0.3);
    });

    it('serves the first waiter within 3 s of the return, and leaves no key behind', async () => {
      const { servedMs, after, left } = await outcome();
      expectBelow(servedMs, 3_000);
      expect(after.lagMs).toBeLessThan(200);
      expect(left).toBe(0);
    });

    it('sends at most 3 commands per token', async () => {
      const { tokens } = await outcome();
      expect(tokens.size).toBeGreaterThan(0);
      expectBelow(Math.max(...tokens.values()), 3.5);
    });
  });

  describe('30,000 calls while connections are refused, ttl 10 min', () => {
    it('costs less than 5 % CPU afterwards', async () => {
      const { codes, quietCpu, trouble } = await gone;
      expect(Object.keys(codes)).toEqual(['LOCK_UNAVAILABLE']);
      expectBelow(quietCpu * 100, 5);
      expect(trouble).toEqual([]);
    });

    it('serves the first waiter within 3 s of the return, without a lag of 200 ms', async () => {
      const { servedMs, lagMs } = await gone;
      expectBelow(servedMs, 3_000);
      expectBelow(lagMs, 200);
    });

    it('undoes no attempt that was never sent', async () => {
      const { tokens } = await gone;
      // The attempts of the waiter; the last one was granted.
      expect(tokens.size).toBeLessThanOrEqual(5);
    });
  });
});
