import type { ConnectionListener } from '../../libs/distribute-lock/src/store/lock-store.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startRedisServer } from '../support/redis-server.js';

describe('A retryStrategy that gives up, in the options of a connection', () => {
  it('does not end locks: the connection is lost, reported, and opened again', async () => {
    const server = await startRedisServer();
    const store = RedisLockStore.open({ port: server.port, retryStrategy: () => null }, { prefix: 'lock:' });
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
