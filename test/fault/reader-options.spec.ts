import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import { PREFIX } from './support/lock-engine.js';
import { monotonicMs } from '../support/monotonic.js';
import { useLockWorld } from './support/use-lock-world.js';

const kind = 'read';

describe('P25: readers of one process keep their own options', () => {
  const world = useLockWorld();
  const left = (key: string): Promise<number> => world.client.pttl(PREFIX + key);

  it('a reader with a long ttl leaves, and the key keeps the ttl of the others', async () => {
    const locks = world.locks();
    const key = world.newKey();
    const reader = await locks.acquire(key, { kind, ttl: 2_400 });
    const visitor = await locks.acquire(key, { kind, ttl: '1h' });
    expect(await left(key)).toBeGreaterThan(3_000_000);
    await visitor.release();
    await eventually(async () => expect(await left(key)).toBeLessThanOrEqual(2_400), 1_800);
    await new Promise((resolve) => setTimeout(resolve, 3_500));
    expect(reader.isHeld()).toBe(true);
    await reader.release();
  });

  it('a reader that crashes keeps writers out only for its own ttl, after a reader with a long ttl has left', async () => {
    const reader = await world.process();
    const key = world.newKey();
    await reader.do('acquire', { key, kind, ttl: 800 });
    const visit = await reader.do('acquire', { key, kind, ttl: '1h' });
    await reader.do('release', visit);
    await eventually(async () => expect(await left(key)).toBeLessThanOrEqual(800), 1_000);
    await reader.kill();
    const killedAt = monotonicMs();
    await (await world.locks().acquire(key, { kind: 'write', wait: '20s' })).release();
    expectBelow(monotonicMs() - killedAt, 800 + 1_000);
  });

  it('entering beside others costs no command, and one extension where a longer lease is needed', async () => {
    const locks = world.locks();
    const key = world.newKey();
    let commands = 0;
    for (const name of ['acquire', 'renew', 'renewOne', 'release'] as const) {
      const original = locks.store[name]!.bind(locks.store) as (...args: unknown[]) => unknown;
      Object.assign(locks.store, { [name]: (...args: unknown[]) => ((commands += 1), original(...args)) });
    }
    const leases = [await locks.acquire(key, { kind, ttl: '30s' })];
    expect(commands).toBe(1);
    for (const ttl of ['30s', '10s', '1s'] as const) leases.push(await locks.acquire(key, { kind, ttl }));
    expect(commands).toBe(1);
    leases.push(await locks.acquire(key, { kind, ttl: '1h' }));
    expect(commands).toBe(2);
    expect(leases.map((lease) => lease.isHeld())).toEqual([true, true, true, true, true]);
    expect(leases.map((lease) => Math.round(lease.remainingMs() / 1_000))).toEqual([30, 30, 10, 1, 3564]);
    for (const lease of leases) await lease.release();
    expect(await world.keysOf(key)).toEqual([]);
  });

  it('a reader with a short ttl is notified of an outage within it, and one with a long ttl continues', async () => {
    const proxy = await world.proxy();
    const locks = world.locks(proxy.url);
    const key = world.newKey();
    const long = await locks.acquire(key, { kind, ttl: '1h' });
    const short = await locks.acquire(key, { kind, ttl: 900 });
    const since = monotonicMs();
    proxy.hold();
    await eventually(() => expect(short.signal.aborted).toBe(true), 2_000);
    expectBelow(monotonicMs() - since, 900 + 300);
    expect(short.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
    expect(long.isHeld()).toBe(true);
    await proxy.resume();
    await long.release();
  });

  it.each([
    ['renew: false', { renew: false }, 'expired'],
    ['maxHold', { maxHold: 500 }, 'maxHold'],
  ] as const)('a reader with %s ends beside a renewed one', async (_, options, reason) => {
    const locks = world.locks();
    const key = world.newKey();
    const renewed = await locks.acquire(key, { kind, ttl: 500 });
    const ending = await locks.acquire(key, { kind, ttl: 500, ...options });
    const since = monotonicMs();
    await eventually(() => expect(ending.signal.aborted).toBe(true), 1_500);
    expectBelow(monotonicMs() - since, 500 + 100);
    expect(ending.signal.reason).toMatchObject({ reason });
    expect(renewed.isHeld()).toBe(true);
    await renewed.release();
  });
});
