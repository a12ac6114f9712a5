import { Redis } from 'ioredis';
import { onCleanup } from '../cleanup.js';
import { eventually, within } from '../eventually.js';
import { startFaultProxy } from './fault-proxy.js';
import { startRedisServer } from '../redis-server.js';

describe('The proxy', () => {
  const settled = (promise: Promise<unknown>) =>
    within(150, 'it', promise).then(
      () => true,
      () => false,
    );

  async function arrange() {
    const server = await startRedisServer();
    const proxy = await startFaultProxy(server.port);
    const client = new Redis(proxy.url, { retryStrategy: () => 20 });
    client.on('error', () => {}); // the commands reject
    onCleanup(() => client.disconnect());
    await client.ping();
    return { server, proxy, client };
  }

  it('cuts connections, and accepts new ones', async () => {
    const { proxy, client } = await arrange();

    proxy.cut();

    expect(await client.ping()).toBe('PONG');
    expect(proxy.connections).toHaveLength(2);
    expect(proxy.open()).toHaveLength(1);
  });

  it.each(['toServer', 'toClient'] as const)('holds bytes %s, and closes nothing', async (direction) => {
    const { server, proxy, client } = await arrange();

    proxy.hold(direction);
    const write = client.set('key', 'value');

    expect(await settled(write)).toBe(false);
    expect(await server.run((redis) => redis.exists('key'))).toBe(direction === 'toServer' ? 0 : 1);
    expect(client.status).toBe('ready');
    await proxy.resume();
    expect(await write).toBe('OK');
  });

  it('keeps a new connection silent while it holds', async () => {
    const { proxy } = await arrange();
    proxy.hold();
    const late = new Redis(proxy.url);
    onCleanup(() => late.disconnect());

    expect(await settled(late.ping())).toBe(false);

    await proxy.resume();
    expect(await late.ping()).toBe('PONG');
  });

  it('delays with jitter, in order', async () => {
    const { proxy, client } = await arrange();
    proxy.delay(30, 20);

    const startedAt = performance.now();
    const numbers = await Promise.all(Array.from({ length: 20 }, () => client.incr('counter')));

    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(20);
    expect(numbers).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  it('loses the reply, not the command', async () => {
    const { server, proxy, client } = await arrange();
    client.options.maxRetriesPerRequest = 0;

    const swallowed = proxy.swallowNextReply(/incr/i);
    const increment = client.incr('counter');

    await swallowed;
    await expect(increment).rejects.toThrow();
    expect(await server.run((redis) => redis.get('counter'))).toBe('1');
  });

  it('refuses new connections until it resumes', async () => {
    const { proxy, client } = await arrange();

    proxy.goDown();
    const ping = client.ping();
    expect(await settled(ping)).toBe(false);

    await proxy.resume();
    expect(await ping).toBe('PONG');
  });

  it('carries replication', async () => {
    const { server, proxy, client } = await arrange();
    const replica = await startRedisServer({ config: { replicaof: `127.0.0.1 ${proxy.port}` } });

    await eventually(async () => expect(await server.run((redis) => redis.wait(1, 100))).toBe(1), 20_000);
    await client.set('replicated', '1');

    await eventually(async () => expect(await replica.run((redis) => redis.get('replicated'))).toBe('1'), 20_000);
  });

  it('forwards the end of a connection', async () => {
    const { proxy, client } = await arrange();

    expect(await client.quit()).toBe('OK');

    await eventually(() => expect(proxy.open()).toEqual([]));
  });
});
