import { setTimeout as sleep } from 'node:timers/promises';

import { Redis } from 'ioredis';

import { LockEvents } from '../../libs/distribute-lock/src/events.js';
import { LOCK_DEFAULTS } from '../../libs/distribute-lock/src/options/lock-options.js';
import { LockEngine } from '../../libs/distribute-lock/src/engine/lock-engine.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { eventually } from '../support/eventually.js';
import { StallWatch } from '../support/stall-watch.js';
import { expectBelow } from './support/bound.js';
import { PREFIX } from './support/lock-engine.js';
import type { LockProcess, Refusal } from './support/lock-process.js';
import { monotonicMs } from '../support/monotonic.js';
import { useLockWorld } from './support/use-lock-world.js';

const wait = '20s';
const drainTimeoutMs = 1_000;

describe('P13: a process that receives SIGTERM', () => {
  const world = useLockWorld();

  async function terminate(process: LockProcess): Promise<{ at: number; ended: Promise<number> }> {
    void process.do('shutDownOnSigterm', { drainTimeoutMs });
    await process.do('resources', undefined); // the process handles the signal by now
    const at = monotonicMs();
    globalThis.process.kill(process.pid, 'SIGTERM');
    const ended = process.exited.then(({ code, signal }) => {
      expect({ code, signal }).toEqual({ code: 0, signal: null });
      return monotonicMs() - at;
    });
    return { at, ended };
  }

  it('rejects its waiters at once, aborts and releases its leases, and ends', async () => {
    const [ending, other] = await Promise.all([world.process(), world.process()]);
    const [held, wanted] = [world.newKey(), world.newKey()];
    const mine = await ending.do('acquire', { key: held });
    const theirs = await other.do('acquire', { key: wanted });
    const loss = ending.do('loss', mine);
    const waits = Array.from({ length: 20 }, () => ending.do('acquire', { key: wanted, wait }));
    const refusals = Promise.all(waits.map((waiting) => waiting.catch((error: unknown) => error)));
    const next = other.do('acquire', { key: held, wait });
    await eventually(async () => expect(await world.waiting(held)).toBe(1));
    await eventually(async () => expect(await world.waiting(wanted)).toBe(1));

    const { at, ended } = await terminate(ending);

    for (const refusal of await refusals) {
      expect(refusal).toMatchObject({ code: 'LOCK_SHUTDOWN' });
      expectBelow((refusal as Refusal).at - at, 250);
    }
    expect(await loss).toMatchObject({ held: false, reason: 'LOCK_SHUTDOWN' });
    expect((await loss).at - at).toBeGreaterThanOrEqual(drainTimeoutMs - 1);
    expect((await next).at).toBeGreaterThan((await loss).at);
    expectBelow(await ended, drainTimeoutMs + 1_000);
    await other.do('release', theirs);
    expect(await world.keysOf(wanted)).toEqual([]);
  });

  it('ends at once when it holds no lock', async () => {
    const { ended } = await terminate(await world.process());
    expectBelow(await ended, 1_000);
  });

  it('ends also when the network does not respond', async () => {
    const proxy = await world.proxy();
    const ending = await world.process(proxy.url);
    const mine = await ending.do('acquire', { key: world.newKey() });
    const loss = ending.do('loss', mine);
    proxy.hold();
    const { ended } = await terminate(ending);
    expect(await loss).toMatchObject({ held: false, reason: 'LOCK_SHUTDOWN' });
    expectBelow(await ended, drainTimeoutMs + 1_000);
  });

  it('closes the connections that it opened, and no others', async () => {
    const client = new Redis(world.server.url, { connectionName: 'given' });
    const store = RedisLockStore.open(client, { prefix: PREFIX });
    const limits = { maxWaitersPerKey: 10, maxWaiters: 10 };
    const engine = new LockEngine(store, { defaults: LOCK_DEFAULTS, ...limits, events: new LockEvents() });
    await client.ping();
    const call = { key: world.newKey(), name: 'fault', options: { ...LOCK_DEFAULTS, waitMs: 1_000 }, scoped: false };
    await (await engine.acquire(call)).release();
    expect(await connections()).toBe(2); // the second connection is the subscription
    await engine.drain(drainTimeoutMs);
    await engine.close();
    await engine.close();
    await expect(engine.acquire(call)).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
    await eventually(async () => expect(await connections()).toBe(1));
    expect(await client.ping()).toBe('PONG');
    client.disconnect();
  });

  it('sends no command after the engine is closed', async () => {
    const proxy = await world.proxy();
    const locks = world.locks(proxy.url);
    const leases = await Promise.all(Array.from({ length: 50 }, () => locks.acquire(world.newKey())));
    proxy.hold();
    const released = Promise.all(leases.map((lease) => lease.release()));
    await expect(locks.acquire(world.newKey())).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await locks.engine.close();
    await released;
    let calls = 0;
    const { store } = locks;
    const release = store.release.bind(store);
    store.release = (request) => {
      calls += 1;
      return release(request);
    };
    await sleep(1_000);
    expect(calls).toBe(0);
  });

  it.each(['exclusive', 'read', 'semaphore'] as const)(
    'notifies work that outlasts it before its lease can end (%s)',
    async (kind) => {
      // The notification comes 30 ms before the end of the lease, and a late turn of the loop is no late notification.
      for (let stalledMs = Infinity; stalledMs > 20;) {
        const locks = world.locks();
        const key = world.newKey();
        const permits = kind === 'semaphore' ? 1 : 0;
        const options = { ...LOCK_DEFAULTS, ttlMs: 3_000, kind, permits };
        const lease = await locks.engine.acquire({ key, name: 'fault', options, scoped: true });
        let notifiedAt = Infinity;
        lease.signal.addEventListener('abort', () => (notifiedAt = monotonicMs()));
        await locks.engine.drain(50);
        await locks.engine.close();
        const stalls = new StallWatch();
        expect(lease.isHeld()).toBe(true);
        const endsAt = monotonicMs() + (await world.client.pttl(PREFIX + key));
        await eventually(() => expect(notifiedAt).toBeLessThan(Infinity));
        stalledMs = stalls.stop();
        if (stalledMs <= 20) expect(notifiedAt).toBeLessThan(endsAt);
        expect(lease.isHeld()).toBe(false);
        expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'shutdown' });
      }
    },
  );

  /** The number of connections of the client and of its duplicates. */
  async function connections(): Promise<number> {
    const list = String(await world.client.client('LIST'));
    return list.split('\n').filter((line) => line.includes(' name=given ')).length;
  }
});
