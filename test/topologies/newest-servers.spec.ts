import { createLocks } from 'nestjs-distribute-lock/core';
import { openStore, StoreContract } from 'nestjs-distribute-lock/testing/contract';
import { Cluster } from 'ioredis';

import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { redisServerBinary, serverVersion } from '../support/redis-binary.js';
import { startRedisCluster } from '../support/redis-cluster.js';
import { type RedisServer, startRedisServer } from '../support/redis-server.js';

const [, name = '', major = '0', minor = '0'] = /^(\w+) (\d+)\.(\d+)/.exec(serverVersion(redisServerBinary())) ?? [];
const IS_VALKEY = name === 'Valkey';
/** Whether the server is at least this version of Redis or of Valkey. */
const isAt = (redis: number, valkey: number): boolean =>
  Number(major) + Number(minor) / 100 >= (IS_VALKEY ? valkey : redis);

const CAN = {
  /** `DELEX key IFEQ value` of Redis, `DELIFEQ key value` of Valkey. */
  compareAndDelete: isAt(8.04, 9),
  /** `SET key value IFEQ value`. */
  compareAndSet: isAt(8.04, 8.01),
  /** `CLUSTER MIGRATION` of Redis, `CLUSTER MIGRATESLOTS` of Valkey. */
  migrateAtomically: isAt(8.04, 9),
  /** The Lua engine is a module that can be unloaded. */
  luaModule: IS_VALKEY && isAt(Infinity, 9.01),
};

const log = { debug: () => undefined, log: () => undefined, warn: () => undefined };
const locksOf = async (connection: Parameters<typeof createLocks>[0]['connection']) => {
  const locks = await createLocks({ connection, log });
  onCleanup(() => locks.close());
  return locks;
};

const deleteIf = (value: string): [string, ...string[]] =>
  IS_VALKEY ? ['DELIFEQ', 'lock:a', value] : ['DELEX', 'lock:a', 'IFEQ', value];

describe('A server of the newest releases', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedisServer(CAN.luaModule ? { config: { 'enable-module-command': 'yes' } } : {});
  }, 30_000);
  afterEach(() => server.run((redis) => redis.del('lock:a')));
  const call = (command: string, ...words: readonly string[]): Promise<unknown> =>
    server.run((redis) => redis.call(command, ...words));

  it('has the commands that the table of versions says', async () => {
    const names = ['DELEX', 'DELIFEQ', 'EVALSHA'];
    const known = (await server.run((redis) => redis.call('COMMAND', 'INFO', ...names))) as readonly unknown[];
    const expected = [CAN.compareAndDelete && !IS_VALKEY, CAN.compareAndDelete && IS_VALKEY, true];
    expect(known.map((one) => one !== null)).toEqual(expected);
  });

  it('keeps every published rule of a store', async () => {
    const contract = new StoreContract({ open: () => openStore(server.url) });
    expect(await contract.check()).toMatchObject({ broken: [], lacking: [] });
  }, 120_000);

  if (CAN.compareAndDelete) {
    it('lets an operator delete the lock of exactly one holder by a compare', async () => {
      const locks = await locksOf(server.url);
      const lease = await locks.acquire('a', { ttl: '60s' });
      const token = (await server.run((redis) => redis.get('lock:a'))) as string;
      expect(await call(...deleteIf('another token'))).toBe(0);
      await lease.extend('60s');
      expect(lease.isHeld()).toBe(true);
      expect(await call(...deleteIf(token))).toBe(1);
      await expect(lease.extend('60s')).rejects.toMatchObject({ code: 'LEASE_LOST' });
      await (await locks.acquire('a')).release();
    });

    it('excludes a client that locks by SET NX and unlocks by a compare', async () => {
      const locks = await locksOf(server.url);
      expect(await call('SET', 'lock:a', 'hand-written', 'NX', 'PX', '60000')).toBe('OK');
      expect(await locks.tryAcquire('a')).toBeNull();
      expect(await call(...deleteIf('hand-written'))).toBe(1);
      const lease = await locks.acquire('a');
      expect(await call('SET', 'lock:a', 'hand-written', 'NX', 'PX', '60000')).toBeNull();
      await lease.release();
    });
  }

  if (CAN.compareAndSet) {
    it('does not lose its lock to a SET that compares with another value', async () => {
      const locks = await locksOf(server.url);
      const lease = await locks.acquire('a', { ttl: '60s' });
      expect(await call('SET', 'lock:a', 'stolen', 'IFEQ', 'another token')).toBeNull();
      await lease.extend('60s');
      expect(lease.isHeld()).toBe(true);
      await lease.release();
    });
  }

  if (CAN.luaModule) {
    it('without its Lua module refuses calls with 503, and serves them again when it has it', async () => {
      const locks = await locksOf(server.url);
      await (await locks.acquire('a')).release();
      expect(await call('MODULE', 'UNLOAD', 'lua')).toBe('OK');
      await expect(locks.acquire('a')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      await expect(createLocks({ connection: server.url, log })).rejects.toThrow(/scripting engine 'lua'/);
      await server.restart();
      await eventually(async () => (await locks.acquire('a')).release(), 30_000);
    }, 90_000);
  }
});

if (CAN.migrateAtomically) {
  describe('A slot that moves in one step', () => {
    const TAG = '{moving}';

    it('keeps its holders and waiters, hands the lock over, and raises fencing tokens', async () => {
      const cluster = await startRedisCluster({}, { masters: 2, replicasEach: 0 });
      const client = new Cluster(cluster.startNodes);
      onCleanup(() => client.disconnect());
      const slot = await client.cluster('KEYSLOT', `lock:${TAG}`);
      const connection = { cluster: cluster.startNodes };
      const [one, other] = [await locksOf(connection), await locksOf(connection)];
      const kept = await one.acquire(`${TAG}kept`, { ttl: '60s' });
      const tokens: number[] = [];
      for (let round = 0; round < 6; round += 1) {
        const [here, there] = round % 2 === 0 ? [one, other] : [other, one];
        const lease = await here.acquire(`${TAG}passed`, { ttl: '60s', wait: '60s' });
        tokens.push(lease.fencingToken);
        const waiting = there.acquire(`${TAG}passed`, { ttl: '60s', wait: '60s' });
        await eventually(async () => expect(await one.inspect(`${TAG}passed`)).toMatchObject({ waiting: 1 }), 30_000);
        const home = await cluster.masterOf(slot);
        const target = cluster.masters.find((node) => node !== home)!;
        await cluster.migrateSlotAtomically(slot, target);
        expect(await cluster.masterOf(slot)).toBe(target);
        await lease.extend('60s');
        await lease.release();
        const next = await waiting;
        tokens.push(next.fencingToken);
        await next.release();
      }
      expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
      expect(tokens).toHaveLength(12);
      await kept.extend('60s');
      expect(kept.isHeld()).toBe(true);
      await kept.release();
    }, 240_000);
  });
}
