import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { newProcessId } from '../../libs/distribute-lock/src/runtime/owner-token.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { openLocks, PREFIX } from '../fault/support/lock-engine.js';
import { eventually } from '../support/eventually.js';
import { startRedisCluster } from '../support/redis-cluster.js';
import { startSentinelTopology } from '../support/redis-sentinels.js';

/** P13: the library closes what it has opened. */
const CLOSED_WITHIN_MS = 1_000;

/** So many stores close while their requests to the nodes are at different points. */
const STORES = 10;

/** Open sockets of this process to these ports. */
function socketsTo(ports: readonly number[]): number {
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): Partial<Socket>[] };
  const open = handles
    .call(process)
    .filter(({ destroyed, remotePort }) => destroyed === false && remotePort !== undefined);
  return open.filter(({ remotePort }) => ports.includes(remotePort!)).length;
}

const noneTo = (ports: readonly number[]): Promise<void> =>
  eventually(() => expect(socketsTo(ports)).toBe(0), CLOSED_WITHIN_MS);

async function startCluster() {
  const cluster = await startRedisCluster({}, { masters: 3, replicasEach: 0 });
  const servers = cluster.nodes.map(({ server }) => server);
  const open = (): RedisLockStore =>
    RedisLockStore.open({ cluster: cluster.startNodes, options: {} }, { prefix: PREFIX });
  return { servers, ports: servers.map(({ port }) => port), open };
}

describe('The sockets to servers that do not respond', () => {
  it('do not become more with time, and are closed with the store (Cluster)', async () => {
    const { servers, ports, open } = await startCluster();
    const stores = Array.from({ length: STORES }, open);
    for (const store of stores) await store.connect();
    for (const server of servers) server.pause();
    const processId = newProcessId();
    const counts: number[] = [];
    for (let call = 0; call < 25; call += 1) {
      for (const [i, store] of stores.entries()) {
        const name = { key: `key-${call % 7}`, ownerToken: `${processId}:${i}${call}` };
        void store.acquire({ ...name, ttlMs: 1_000, wait: false, block: 1 }).then(undefined, () => undefined);
      }
      await sleep(1_000);
      counts.push(socketsTo(ports));
    }
    await Promise.all(stores.map((store) => store.close()));
    await noneTo(ports);
    for (const server of servers) server.resume();
    expect(Math.max(...counts.slice(-5))).toBeLessThanOrEqual(Math.max(...counts.slice(0, 10)));
  });

  it('are closed with a store that subscribes (Cluster)', async () => {
    const { servers, ports, open } = await startCluster();
    const store = open();
    await store.connect();
    for (const server of servers) server.pause();
    const before = socketsTo(ports);
    const listener = { message: () => undefined, resubscribed: () => undefined };
    const opened = store.subscribe(newProcessId(), listener).catch(() => undefined);
    await eventually(() => expect(socketsTo(ports)).toBeGreaterThan(before));
    await store.close();
    await noneTo(ports);
    for (const server of servers) server.resume();
    await opened;
  });

  it('are closed with the watches of Sentinels', async () => {
    const { servers, sentinels, connection } = await startSentinelTopology({ replicas: 1 });
    const locks = openLocks(connection);
    await (await locks.acquire('key', { ttl: '30s' })).release();
    const ports = [...sentinels, ...servers].map(({ port }) => port);
    await eventually(() => expect(socketsTo(sentinels.map(({ port }) => port))).toBe(sentinels.length));
    for (const sentinel of sentinels) sentinel.pause();
    await locks.engine.close();
    await noneTo(ports);
    for (const sentinel of sentinels) sentinel.resume();
  });
});
