import { Redis } from 'ioredis';

import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { type FaultProxy, startFaultProxy } from '../support/proxy/fault-proxy.js';
import { startRedisServer } from '../support/redis-server.js';
import { expectBelow } from './support/bound.js';
import { locksOn, PREFIX, type Locks } from './support/lock-engine.js';
import { beginLongScript } from './support/long-script.js';
import { monotonicMs } from '../support/monotonic.js';
import { outcome } from './support/outcome.js';
import { useLockWorld } from './support/use-lock-world.js';

/** Waiting does not cure a permanent failure, so the call fails without waiting. */
const AT_ONCE_MS = 500;
const PATIENT = { wait: '20s' } as const;

describe('P5: acquire settles within wait + 1 s', () => {
  const world = useLockWorld();

  it.each([0, 1_000])('when the network does not respond, with a wait of %i ms', async (wait) => {
    const proxy = await world.proxy();
    const locks = world.locks(proxy.url);
    await locks.engine.connect();
    proxy.hold();
    const { tookMs, code, message } = await outcome(locks, world.newKey(), { wait });
    expect(code).toBe('LOCK_UNAVAILABLE'); // no reply names a holder
    expect(message).toContain('Redis did not respond within 800 ms'); // the limit of the command, which gives the reason
    expectBelow(tookMs, wait + 1_000);
  });

  it('when the server accepts the connection and never replies', async () => {
    const proxy = await world.proxy();
    proxy.hold();
    const { tookMs, code } = await outcome(world.locks(proxy.url), world.newKey(), { wait: 500 });
    expect(code).toBe('LOCK_UNAVAILABLE'); // no reply names a holder
    expectBelow(tookMs, 1_500);
  });

  it.each<[string, number, (proxy: FaultProxy) => void]>([
    ['does not respond', 2_000, (proxy) => proxy.hold()],
    // The connection is proven by other replies, so nothing closes it.
    ['responds, but not to scripts', 3_000, (proxy) => void (proxy.prepare = (next) => next.intercept(/^eval/i, ''))],
  ])('and connect() rejects when the server of an application client %s (within %i ms)', async (_, limitMs, happen) => {
    const proxy = await world.proxy();
    const client = new Redis(proxy.url);
    onCleanup(() => client.disconnect());
    await client.ping();
    happen(proxy);
    const locks = locksOn(RedisLockStore.open(client, { prefix: PREFIX }));
    onCleanup(() => locks.engine.close());
    const startedAt = monotonicMs();
    await expect(locks.engine.connect()).rejects.toThrow('Redis did not respond');
    expectBelow(monotonicMs() - startedAt, limitMs);
  });

  it('when no server listens on the port', async () => {
    const proxy = await world.proxy();
    proxy.refuse();
    const { tookMs, code } = await outcome(world.locks(proxy.url), world.newKey(), { wait: 500 });
    expect(code).toBe('LOCK_UNAVAILABLE'); // no reply names a holder
    expectBelow(tookMs, 1_500);
  });

  it('when every reply is lost', async () => {
    const proxy = await world.proxy();
    const locks = world.locks(proxy.url);
    await locks.engine.connect();
    proxy.hold('toClient');
    const { tookMs, code } = await outcome(locks, world.newKey(), { wait: 1_500 });
    expect(code).toBe('LOCK_UNAVAILABLE'); // no reply names a holder
    expectBelow(tookMs, 2_500);
  });
});

describe('P5: acquire retries inside the wait when a failure is temporary:', () => {
  const world = useLockWorld();

  it('a reconnect', async () => {
    const proxy = await world.proxy();
    const locks = world.locks(proxy.url);
    await locks.engine.connect();
    proxy.goDown();
    const acquired = outcome(locks, world.newKey(), { wait: 5_000 });
    setTimeout(() => void proxy.resume(), 1_000);
    expect(await acquired).toMatchObject({ code: 'granted' });
  });

  it('a server that is still LOADING its data', async () => {
    const slow = await startRedisServer({
      config: { 'key-load-delay': '4000', 'loading-process-events-interval-bytes': '1024' },
    });
    await slow.run((redis) =>
      redis.mset(Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`other-${i}`, 'x'.repeat(100)]))),
    );
    const proxy = await startFaultProxy(slow.port);
    const locks = world.locks(proxy.url);
    await locks.engine.connect();
    const key = world.newKey();
    const before = proxy.open();
    expect(before.length).toBeGreaterThan(0);
    const restarted = slow.restart({ empty: false });
    // The client connects again at once, and the server accepts it while it loads its data.
    await eventually(() => expect(proxy.open().filter((each) => before.includes(each)).length).toBe(0), 10_000);
    expect(await outcome(locks, key, { wait: 10_000 })).toMatchObject({ code: 'granted' });
    await restarted;
  });

  it('READONLY, from a primary that was demoted for some time', async () => {
    const refusals = async (): Promise<number> =>
      Number(/errorstat_READONLY:count=(\d+)/.exec(await world.client.info('errorstats'))?.[1] ?? 0);
    const locks = world.locks();
    await locks.engine.connect();
    await world.client.replicaof('127.0.0.1', 1);
    expect(await outcome(locks, world.newKey())).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    const before = await refusals();
    const acquired = outcome(locks, world.newKey(), { wait: 5_000 });
    await eventually(async () => expect(await refusals()).toBeGreaterThan(before + 1));
    await world.client.replicaof('NO', 'ONE');
    const { code, tookMs } = await acquired;
    expect(code).toBe('granted');
    expectBelow(tookMs, 2_000);
  });

  it('BUSY, while another client runs a long script', async () => {
    const locks = world.locks();
    await locks.engine.connect();
    const key = world.newKey();
    const kill = await beginLongScript(world.client);
    const acquired = outcome(locks, key, { wait: 5_000 });
    const { message } = await outcome(locks, key);
    expect(await kill()).toContain('killed');
    expect(message).toContain('BUSY');
    expect(await acquired).toMatchObject({ code: 'granted' });
  });
});

describe('P5: acquire rejects at once, with the reason, when a failure is permanent:', () => {
  const world = useLockWorld();

  async function refused(locks: Locks, key: string, why: RegExp): Promise<void> {
    const { tookMs, code, message } = await outcome(locks, key, PATIENT);
    expect(code).toBe('LOCK_UNAVAILABLE');
    expect(message).toMatch(why);
    expectBelow(tookMs, AT_ONCE_MS);
  }
  const as = (username: string, password: string) =>
    world.locks({ host: '127.0.0.1', port: world.server.port, username, password });

  it('a command that the ACL denies', async () => {
    await world.client.call('ACL', 'SETUSER', 'noscripts', 'on', '>secret-1', '~*', '&*', '+@all', '-evalsha', '-eval');
    await refused(as('noscripts', 'secret-1'), world.newKey(), /NOPERM/);
  });

  it('a command that the ACL denies inside of scripts', async () => {
    await world.client.call('ACL', 'SETUSER', 'noset', 'on', '>secret-2', '~*', '&*', '+@all', '-set');
    const locks = as('noset', 'secret-2');
    await locks.engine.connect();
    await refused(locks, world.newKey(), /can't run this command|NOPERM/);
  });

  it('a key that the ACL denies, and only for that key', async () => {
    await world.client.call(
      'ACL',
      'SETUSER',
      'fewkeys',
      'on',
      '>secret-3',
      `~f1:*`,
      `~${PREFIX}mine*`,
      `~q1:{${PREFIX}mine*`,
      '&*',
      '+@all',
    );
    const locks = as('fewkeys', 'secret-3');
    await locks.engine.connect();
    const mine = outcome(locks, 'mine', PATIENT);
    await refused(locks, 'theirs', /NOPERM/);
    expect(await mine).toMatchObject({ code: 'granted' });
  });

  it('a wrong password, which appears in no message', async () => {
    const locks = as('default', 'not-the-secret');
    await world.client.call('ACL', 'SETUSER', 'default', '>the-secret');
    await world.client.call('ACL', 'SETUSER', 'default', 'resetpass', '>the-secret');
    await refused(locks, world.newKey(), /WRONGPASS/);
    expect((await outcome(locks, world.newKey())).message).not.toContain('not-the-secret');
    await world.client.call('ACL', 'SETUSER', 'default', 'nopass');
  });

  it('a value of another type at the key, or at its queue', async () => {
    const locks = world.locks();
    const [key, queued] = [world.newKey(), world.newKey()];
    await world.client.hset(PREFIX + key, 'a', 'b');
    await world.client.set(`q1:{${PREFIX}${queued}}`, 'no queue');
    await locks.engine.connect();
    await refused(locks, key, /WRONGTYPE/);
    await refused(locks, queued, /WRONGTYPE/);
    expect(await outcome(locks, world.newKey())).toMatchObject({ code: 'granted' });
  });
});
