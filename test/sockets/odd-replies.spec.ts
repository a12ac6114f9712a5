import { setTimeout as sleep } from 'node:timers/promises';

import { Redis } from 'ioredis';

import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { locksOn, PREFIX } from '../fault/support/lock-engine.js';
import { outcome } from '../fault/support/outcome.js';
import { useLockWorld } from '../fault/support/use-lock-world.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { ODD_REPLIES, SCRIPTS } from './support/faults.js';
import { startFaultProxy } from '../support/proxy/fault-proxy.js';

const TTL_MS = 1_500;
const READONLY = "-READONLY You can't write against a read only replica.\r\n";
const world = useLockWorld();

async function arrange() {
  const proxy = await startFaultProxy(world.server.port);
  const locks = world.locks(proxy.url);
  const key = world.newKey();
  await (await locks.acquire(`${key}-warm-up`, { wait: '5s' })).release();
  return { proxy, locks, key, connection: await proxy.connection('commands') };
}

describe.each(Object.entries(ODD_REPLIES))('a reply of another shape: %s', (_, reply) => {
  it('to an acquire rejects with LOCK_UNAVAILABLE, and a grant of the server is undone', async () => {
    const { locks, key, connection } = await arrange();
    void connection.replaceReply(SCRIPTS, reply);

    const { code } = await outcome(locks, key, { ttl: '30s', wait: 0 });

    expect(code).toBe('LOCK_UNAVAILABLE');
    await eventually(async () => expect(await world.keysOf(key)).toEqual([]), 4_000);
  });

  it('to a renewal confirms nothing: the holder is notified before its lease ends', async () => {
    const { locks, key, connection } = await arrange();
    const lease = await locks.acquire(key, { ttl: TTL_MS });
    connection.intercept(SCRIPTS, reply);
    const endsInMs = await world.client.pttl(PREFIX + key);
    expect(endsInMs).toBeGreaterThan(0);

    await sleep(endsInMs);

    expect(lease.isHeld()).toBe(false);
    await eventually(() => expect(lease.signal.aborted).toBe(true), 250);
  });

  it('to a release does not confirm it: the key is free when the server responds again', async () => {
    const { locks, key, connection } = await arrange();
    const lease = await locks.acquire(key, { ttl: '30s' });
    connection.intercept(SCRIPTS, reply);

    await lease.release();
    await sleep(300);
    connection.endIntercept();

    await eventually(async () => expect(await world.keysOf(key)).toEqual([]), 4_000);
  });
});

describe("the application's client with a MULTI open", () => {
  async function open() {
    const client = new Redis(world.server.url);
    onCleanup(() => client.disconnect());
    const locks = locksOn(RedisLockStore.open(client, { prefix: PREFIX }));
    onCleanup(() => locks.engine.close());
    await locks.engine.connect();
    return { client, locks, key: world.newKey() };
  }

  it('never leads to two holders', async () => {
    const { client, locks, key } = await open();
    const lease = await locks.acquire(key, { ttl: TTL_MS, wait: '5s' });
    await client.multi({ pipeline: false });

    const next = world.locks().acquire(key, { ttl: '30s', wait: '6s' });
    const first = await Promise.race([next, sleep(3 * TTL_MS)]);

    expect(first !== undefined && lease.isHeld()).toBe(false);
    await client.discard();
    await lease.release();
    await (await next).release();
  });

  it('does not keep the library from locking', async () => {
    const { client, locks, key } = await open();
    await client.multi({ pipeline: false });

    expect(await outcome(locks, key, { ttl: '30s', wait: 0 })).toMatchObject({ code: 'granted' });
    await client.discard();
  });

  it('leaves no key behind with its EXEC', async () => {
    const { client, locks, key } = await open();
    await client.multi({ pipeline: false });

    const { code } = await outcome(locks, key, { ttl: '30s', wait: 0 });
    await client.exec();

    expect(['granted', 'LOCK_UNAVAILABLE']).toContain(code);
    if (code !== 'granted') await eventually(async () => expect(await world.keysOf(key)).toEqual([]), 4_000);
  });
});

describe('READONLY as the reply to 20 callers', () => {
  it('causes no warning, and the callers get their locks', async () => {
    const proxy = await startFaultProxy(world.server.port);
    const process = await world.process(proxy.url);
    const key = world.newKey();
    await process.do('release', await process.do('acquire', { key, wait: '5s' }));
    const connection = await proxy.connection('commands');
    connection.intercept(SCRIPTS, READONLY);
    connection.holdReplies();

    // One call per slice gets a separate reply; all replies arrive together.
    const calls = process.do('calls', { key, perSecond: 50, forMs: 400, wait: '10s' });
    await sleep(500);
    connection.endIntercept();
    connection.resume();

    expect(await calls).toEqual({ granted: 20 });
    expect(process.trouble.splice(0)).toEqual([]);
  });
});
