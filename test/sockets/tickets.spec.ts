import { setTimeout as sleep } from 'node:timers/promises';

import { Locks as Door } from '../../libs/distribute-lock/src/locks/locks.js';
import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import { PREFIX, type Locks } from '../fault/support/lock-engine.js';
import { useLockWorld } from '../fault/support/use-lock-world.js';
import { eventually } from '../support/eventually.js';
import { startFaultProxy, type FaultProxy } from '../support/proxy/fault-proxy.js';
import type { ProxiedConnection } from '../support/proxy/proxied-connection.js';
import { startRedisServer } from '../support/redis-server.js';

const ttl = '30s';
/** A command that gives a lease to another owner token. */
const MOVE = / m [\w-]{22}:\w+ \d+ [\w-]{22}:/;
const KEEP = /^set t1:/i;
/** An attempt that was not granted leaves nothing behind after this time (P6). */
const UNDONE_MS = 2_000;
/** The server refuses a command that it gets later than this. */
const LATE_MS = 5_000;

const world = useLockWorld();
const doorOf = ({ engine }: Locks): Door => new Door(() => engine);
const usedBy = (ticket: string, door: Door): Promise<void> =>
  expect(door.attach(ticket)).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'used' });

interface Scene {
  readonly proxy: FaultProxy;
  /** Behind the proxy. */
  readonly here: Door;
  readonly there: Door;
  readonly lease: Lease;
  readonly keys: readonly string[];
}

/** A lease of a process whose connections pass through a proxy. */
async function arrange(count = 1, lasts: '2s' | typeof ttl = ttl): Promise<Scene> {
  const proxy = await world.proxy();
  const [near, far] = [world.locks(proxy.url), world.locks()];
  const key = world.newKey();
  await (await near.acquire(`${key}-warm-up`, { wait: '5s' })).release();
  const keys = Array.from({ length: count }, (_, i) => `${key}-${i}`);
  const [here, there] = [doorOf(near), doorOf(far)];
  return { proxy, here, there, keys, lease: await here.acquire(count === 1 ? keys[0] : keys, { ttl: lasts }) };
}

/** Holds the bytes to the server from the next move on. Resolves with its connection, without the move at the server. */
function holdMove(proxy: FaultProxy): Promise<ProxiedConnection> {
  return new Promise((resolve) => {
    proxy.onRequest = (request) => {
      if (!MOVE.test(request)) return;
      proxy.onRequest = () => {};
      const connection = proxy.open('commands').at(-1)!;
      connection.holdRequests();
      resolve(connection);
    };
  });
}

/** Calls until the store has responded. */
async function attachAgain(door: Door, ticket: string): Promise<Lease> {
  return eventually(() => door.attach(ticket, { ttl }), 10_000);
}

describe('locks.attach(), whose reply is lost after Redis has executed the move', () => {
  const cases: [string, number, RegExp][] = [
    ['one key', 1, MOVE],
    ['several keys, the first move', 3, MOVE],
    ['several keys, the other moves', 3, /-2\b.* m [\w-]{22}:/],
  ];

  it.each(cases)('sends the move again on the next connection: %s', async (_, count, move) => {
    const { proxy, here, there, lease, keys } = await arrange(count);
    const ticket = await lease.detach({ ttl });
    const swallowed = proxy.swallowNextReply(move);
    const next = await here.attach(ticket, { ttl });
    await swallowed;
    await usedBy(ticket, there);
    expect(next.isHeld()).toBe(true);
    await next.release();
    for (const key of keys) expect(await world.keysOf(key)).toEqual([]);
  });

  it.each(cases)('continues the lease when the same process repeats the call: %s', async (_, count, move) => {
    const { proxy, here, there, lease, keys } = await arrange(count);
    const waiting = there.acquire(keys.at(-1)!, { wait: ttl });
    const ticket = await lease.detach({ ttl });
    const away = proxy.swallowNextReply(move).then(() => proxy.goDown());
    await expect(here.attach(ticket, { ttl })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await away;
    await usedBy(ticket, there);
    await proxy.resume();
    const next = await attachAgain(here, ticket);
    expect(next.isHeld()).toBe(true);
    for (const key of keys) expect(next.fencingTokens.get(key)).toBeGreaterThan(lease.fencingTokens.get(key)!);
    await usedBy(ticket, here);
    await usedBy(ticket, there);
    expect(next.isHeld()).toBe(true);
    await next.release();
    const last = await waiting;
    expect(last.fencingToken).toBeGreaterThan(next.fencingTokens.get(last.key)!);
    await last.release();
    for (const key of keys) expect(await world.keysOf(key)).toEqual([]);
  });
});

/** The process loses its connection while its move is on the way, and gives up. The connection can still deliver the move. */
async function delayMove(proxy: FaultProxy, door: Door, ticket: string): Promise<ProxiedConnection> {
  const held = holdMove(proxy);
  const attached = expect(door.attach(ticket, { ttl })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  const connection = await held;
  proxy.refuse();
  connection.closeAtClient();
  await attached;
  return connection;
}

describe('locks.attach(), whose move is delayed', () => {
  it('has no effect when the server gets it after its deadline, and the ticket works in another process', async () => {
    const { proxy, here, there, lease, keys } = await arrange();
    const ticket = await lease.detach({ ttl: '1m' });
    const connection = await delayMove(proxy, here, ticket);
    const owner = await world.owner(keys[0]);
    await sleep(LATE_MS);
    connection.deliver();
    await sleep(200);
    expect(await world.owner(keys[0])).toBe(owner);
    await proxy.resume();
    const next = await there.attach(ticket, { ttl });
    // Its connection comes back after a pause.
    await eventually(() => usedBy(ticket, here), 10_000);
    expect(next.isHeld()).toBe(true);
    await next.release();
    expect(await world.keysOf(keys[0])).toEqual([]);
  });

  it('changes nothing when another process has attached the ticket since', async () => {
    const { proxy, here, there, lease, keys } = await arrange();
    const ticket = await lease.detach({ ttl: '1m' });
    const connection = await delayMove(proxy, here, ticket);
    const next = await there.attach(ticket, { ttl });
    connection.deliver();
    await proxy.resume();
    await sleep(200);
    await next.extend(ttl);
    await eventually(() => usedBy(ticket, here), 10_000);
    expect(next.isHeld()).toBe(true);
    await next.release();
    expect(await world.keysOf(keys[0])).toEqual([]);
  });
});

describe('lease.detach(), whose reply is lost', () => {
  it.each([
    ['one key', 1],
    ['several keys', 3],
  ])('repeats the move, and resolves with a ticket that works: %s', async (_, count) => {
    const { proxy, here, there, lease, keys } = await arrange(count);
    const swallowed = proxy.swallowNextReply(MOVE);
    const ticket = await lease.detach({ ttl });
    await swallowed;
    expect(lease.isHeld()).toBe(false);
    const next = await there.attach(ticket, { ttl });
    for (const key of keys) expect(next.fencingTokens.get(key)).toBeGreaterThan(lease.fencingTokens.get(key)!);
    await usedBy(ticket, here);
    await next.release();
    for (const key of keys) expect(await world.keysOf(key)).toEqual([]);
  });

  it('leaves the lease as it is when the reply to the record is lost', async () => {
    const { proxy, there, lease, keys } = await arrange();
    const swallowed = proxy.swallowNextReply(KEEP);
    const [settled] = await Promise.allSettled([lease.detach({ ttl }), swallowed]);
    if (settled.status === 'rejected') {
      expect(settled.reason).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      expect(lease.isHeld()).toBe(true);
      await lease.extend(ttl);
      await lease.release();
    } else expect(await there.cancel(settled.value)).toBe(true);
    await eventually(async () => expect(await world.keysOf(keys[0])).toEqual([]));
  });

  it('rejects when Redis stays away, holds the lease no longer, and leaves the key free', async () => {
    const { proxy, there, lease, keys } = await arrange(1, '2s');
    const swallowed = proxy.swallowNextReply(MOVE);
    const detached = lease.detach({ ttl: '1m' });
    const rejected = expect(detached).rejects.toMatchObject({ code: /LEASE_LOST|LOCK_UNAVAILABLE/ });
    await swallowed;
    proxy.goDown();
    await rejected;
    expect(lease.isHeld()).toBe(false);
    // The key is still locked, so no other process can hold it by now.
    await expect(there.acquire(keys[0])).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    const next = there.acquire(keys[0], { wait: ttl });
    await proxy.resume();
    const granted = await eventually(async () => {
      expect(await world.owner(keys[0])).not.toMatch(/:0/);
      return next;
    }, 3 * UNDONE_MS);
    expect(granted.fencingToken).toBeGreaterThan(lease.fencingToken);
    await granted.release();
  });

  it('returns a ticket that lasts as long as the lease, although the move was late', async () => {
    const { proxy, there, lease, keys } = await arrange();
    const swallowed = proxy.swallowNextReply(MOVE);
    const detached = lease.detach({ ttl: '10s' });
    await swallowed;
    proxy.goDown();
    await sleep(6_000);
    await proxy.resume();
    const ticket = await detached;
    const [hash] = (await world.owner(keys[0]))!.split(':');
    const leftMs = await world.client.pttl(PREFIX + keys[0]);
    expect(leftMs).toBeGreaterThan(8_000);
    expect(await world.client.pttl(`t1:${PREFIX}${hash}`)).toBeGreaterThan(leftMs);
    expect(await there.cancel(ticket)).toBe(true);
  });
});

it('detach() keeps the lease when Redis does not confirm the record of the ticket', async () => {
  const { proxy, there, lease, keys } = await arrange();
  const connection = await proxy.connection('commands');
  connection.intercept(KEEP, '+QUEUED\r\n');
  await expect(lease.detach({ ttl })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  connection.endIntercept();
  expect(lease.isHeld()).toBe(true);
  await lease.release();
  await (await there.acquire(keys[0], { ttl })).release();
});

it.each(['attach', 'cancel'] as const)('%s() reaches the new primary after a planned failover', async (method) => {
  const config = { 'repl-diskless-sync-delay': '0' };
  const old = await startRedisServer({ config });
  const next = await startRedisServer({ config: { ...config, replicaof: `127.0.0.1 ${old.port}` } });
  await eventually(async () => expect(await old.run((redis) => redis.info('replication'))).toContain('state=online'));
  const endpoint = await startFaultProxy(old.port);
  const [worker, other] = [world.locks(endpoint.url), world.locks(endpoint.url)];
  await (await worker.acquire('warm-up', { ttl })).release();
  const ticket = await (await doorOf(other).acquire('key', { ttl })).detach({ ttl });
  endpoint.leadTo(next.port);
  await old.run((redis) => redis.call('FAILOVER', 'TO', '127.0.0.1', String(next.port)));
  await eventually(async () => expect((await next.run((redis) => redis.role()))[0]).toBe('master'));
  // Its connection to the old primary stays open.
  await eventually<unknown>(() => doorOf(worker)[method](ticket), 10_000);
});
