import { setTimeout as sleep } from 'node:timers/promises';

import { Redis } from 'ioredis';

import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { expectBelow } from '../fault/support/bound.js';
import { locksOn, openLocks, PREFIX, type Locks } from '../fault/support/lock-engine.js';
import { LockProcess } from '../fault/support/lock-process.js';
import { monotonicMs } from '../support/monotonic.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startRedisServer, type RedisServer } from '../support/redis-server.js';
import { startFaultProxy } from '../support/proxy/fault-proxy.js';

let server: RedisServer;
let keys = 0;
beforeAll(async () => (server = await startRedisServer()));

const newKey = (): string => `key-${(keys += 1)}`;

function closing(locks: Locks): Locks {
  onCleanup(() => locks.engine.close());
  return locks;
}

/** Blocks the event loop. */
const block = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

async function arrange() {
  const proxy = await startFaultProxy(server.port);
  const locks = closing(openLocks(proxy.url));
  await (await locks.acquire(newKey())).release();
  const [connection] = proxy.open('commands');
  const ask = (ttlMs = 1_000) =>
    Promise.resolve(
      locks.store.acquire({ key: newKey(), ownerToken: 'AAAAAAAAAAAAAAAAAAAAAA:1', ttlMs, wait: false, block: 1 }),
    );
  return { proxy, locks, connection, ask };
}

describe('a connection for commands', () => {
  it('is closed 2.5 s after the first unanswered command, and no earlier, however long it was idle', async () => {
    const { connection, ask } = await arrange();
    await sleep(3_000);
    connection.halfOpen();
    const calledAt = monotonicMs();
    await expect(ask()).rejects.toMatchObject({ sent: true });

    await eventually(() => expect(connection.open).toBe(false));
    const closedAfterMs = connection.closedAt! - calledAt;
    expect(closedAfterMs).toBeGreaterThanOrEqual(2_400);
    expectBelow(closedAfterMs, 3_200);
    await eventually(async () => expect(await ask()).toMatchObject({ outcome: 'granted' }));
  });

  it('that is idle is not probed', async () => {
    const { connection } = await arrange();
    // The process writes its record after 1 s.
    await sleep(1_500);
    const { requests } = connection;
    await sleep(2_000);
    expect(connection.requests).toBe(requests);
  });

  it('accepts no writes while a reply is overdue, and reports that they were not sent', async () => {
    const { connection, ask } = await arrange();
    connection.halfOpen();
    await expect(ask()).rejects.toMatchObject({ sent: true });
    const { requests } = connection;
    const late = await Promise.all(Array.from({ length: 100 }, () => ask().catch((error: unknown) => error)));
    for (const error of late) expect(error).toMatchObject({ name: 'LockStoreError', passing: true, sent: false });
    expect(connection.requests - requests).toBeLessThan(5); // probes
  });

  it('accepts writes as soon as the overdue reply comes', async () => {
    const { connection, ask } = await arrange();
    connection.halfOpen();
    await expect(ask()).rejects.toMatchObject({ sent: true });
    const next = ask();
    const answeredAt = next.then(() => monotonicMs());
    connection.resume();
    const resumedAt = monotonicMs();
    expect(await next).toMatchObject({ outcome: 'granted' });
    expectBelow((await answeredAt) - resumedAt, 100);
    expect(connection.open).toBe(true);
  });

  it('is kept while the server pauses for 2 s and nothing is lost', async () => {
    const { proxy, connection, ask } = await arrange();
    const before = proxy.connections.length;
    connection.halfOpen();
    await expect(ask()).rejects.toThrow();
    await sleep(1_200);
    connection.resume();
    await eventually(async () => expect(await ask()).toMatchObject({ outcome: 'granted' }));
    await sleep(1_000);
    expect(connection.open).toBe(true);
    expect(proxy.connections).toHaveLength(before);
  });

  it('is kept when the event loop was blocked for 3 s', async () => {
    const { connection, ask } = await arrange();
    const pending = ask();
    block(3_000);
    await pending.catch(() => undefined);
    await sleep(1_000);
    expect(connection.open).toBe(true);
  });

  it('is closed while work blocks the event loop for 700 ms again and again', async () => {
    const { connection, ask } = await arrange();
    connection.halfOpen();
    const work = setInterval(() => block(700), 750);
    try {
      await ask().catch(() => undefined);
      await eventually(() => expect(connection.open).toBe(false), 15_000);
    } finally {
      clearInterval(work);
    }
    await eventually(async () => expect(await ask()).toMatchObject({ outcome: 'granted' }));
  });

  it('whose handshake gets no reply is closed after 2.5 s', async () => {
    const proxy = await startFaultProxy(server.port);
    proxy.hold();
    const locks = closing(openLocks(proxy.url));
    await expect(locks.engine.connect()).rejects.toThrow('Redis did not respond');
    const [first] = proxy.connections;
    await eventually(() => expect(first.open).toBe(false));
    await proxy.resume();
    await eventually(() => locks.engine.connect(), 4_000);
  });

  it('is replaced once when 20 callers get READONLY at the same time', async () => {
    const proxy = await startFaultProxy(server.port);
    const process = await LockProcess.start(proxy.url); // the process reports warnings
    await process.do('release', await process.do('acquire', { key: newKey() }));
    const [connection] = proxy.open('commands');
    await server.run((redis) => redis.replicaof('127.0.0.1', 1));
    const { requests } = connection;
    connection.holdReplies();
    const refused = Array.from({ length: 20 }, async (_, i) => {
      await sleep(10 * i); // sends each command separately
      return process.do('acquire', { key: newKey() }).catch((error: unknown) => error);
    });
    await eventually(() => expect(connection.requests - requests).toBeGreaterThanOrEqual(20));
    connection.resume();
    for (const error of await Promise.all(refused)) expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await server.run((redis) => redis.replicaof('NO', 'ONE'));
    await eventually(async () => process.do('release', await process.do('acquire', { key: newKey() })));
    expect(process.trouble).toEqual([]);
    expect(proxy.open('commands')).toHaveLength(1);
  });
});

describe("the application's client", () => {
  it('receives no command of the library, so its transaction does not affect locks', async () => {
    const proxy = await startFaultProxy(server.port);
    const client = new Redis(proxy.url);
    onCleanup(() => client.disconnect());
    await client.multi({ pipeline: false });
    const [own] = proxy.connections;
    const { requests } = own;
    const locks = closing(locksOn(RedisLockStore.open(client, { prefix: PREFIX })));

    const lease = await locks.acquire(newKey(), { wait: '1s' });
    await lease.release();

    expect(own.requests).toBe(requests);
    expect(await client.exec()).toEqual([]);
  });

  it('is a template whose password may change', async () => {
    const proxy = await startFaultProxy(server.port);
    await server.run((redis) => redis.acl('SETUSER', 'app', 'on', '>old', '~*', '&*', '+@all'));
    const client = new Redis(proxy.url, { username: 'app', password: 'old' });
    client.on('error', () => undefined);
    onCleanup(() => client.disconnect());
    const locks = closing(locksOn(RedisLockStore.open(client, { prefix: PREFIX })));
    await (await locks.acquire(newKey())).release();

    await server.run((redis) => redis.acl('SETUSER', 'app', '<old', '>new'));
    client.options.password = 'new';
    proxy.cut();

    await (await locks.acquire(newKey(), { wait: '2s' })).release();
  });

  it('that has ended is reported in the error', async () => {
    const client = new Redis(server.url);
    await client.quit();
    const locks = closing(locksOn(RedisLockStore.open(client, { prefix: PREFIX })));
    await expect(locks.acquire(newKey(), { wait: '1s' })).rejects.toThrow('The connection to Redis is closed');
  });
});
