import { Redis } from 'ioredis';

import type { ConnectionListener } from '../../libs/distribute-lock/src/store/lock-store.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startRedisServer } from '../support/redis-server.js';

const retryStrategy = (): null => null;
const settings = { prefix: 'lock:' };

function over(port: number): RedisLockStore {
  const client = new Redis({ port, retryStrategy }).on('error', () => undefined);
  onCleanup(() => client.disconnect());
  return RedisLockStore.over(client, settings);
}

describe.each([
  ['the options of a connection', (port: number) => RedisLockStore.open({ port, retryStrategy }, settings)],
  ["an application's client", over],
])('A retryStrategy that gives up, in %s', (_, open) => {
  it('does not end locks: the connection is lost, reported, and opened again', async () => {
    const server = await startRedisServer();
    const store = open(server.port);
    onCleanup(() => store.close());
    const reports: string[] = [];
    const listener: ConnectionListener = {
      disconnected: () => void reports.push('lost'),
      reconnected: () => void reports.push('back'),
    };
    store.observeConnections(listener);
    await store.connect();
    await server.kill();
    await eventually(() => expect(reports).toEqual(['lost']), 20_000);
    await server.restart();
    await eventually(() => expect(reports).toEqual(['lost', 'back']), 20_000);
    const request = { key: 'a', ownerToken: `${'x'.repeat(22)}:1`, ttlMs: 30_000, wait: false, block: 1 };
    expect(await store.acquire(request)).toMatchObject({ outcome: 'granted' });
  }, 60_000);
});
