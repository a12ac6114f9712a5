import { Redis } from 'ioredis';

import { onCleanup } from '../cleanup.js';
import { eventually, within } from '../eventually.js';
import { startRedisServer, type RedisServer } from '../redis-server.js';
import { startFaultProxy } from './fault-proxy.js';

describe('A connection through the proxy', () => {
  let server: RedisServer;
  beforeAll(async () => (server = await startRedisServer()));

  async function arrange(protocol: 2 | 3 = 2) {
    const proxy = await startFaultProxy(server.port);
    const client = new Redis({ host: '127.0.0.1', port: proxy.port, protocol, retryStrategy: () => 20 });
    client.on('error', () => {}); // commands reject
    onCleanup(() => client.disconnect());
    await client.eval('return 1', 0);
    return { proxy, client, connection: await proxy.connection('commands') };
  }

  const settled = (promise: Promise<unknown>) =>
    within(150, 'it', promise).then(
      () => true,
      () => false,
    );

  it.each([2, 3] as const)('distinguishes connections by their roles (RESP%i)', async (protocol) => {
    const { proxy, client } = await arrange(protocol);
    const inbox = client.duplicate();
    onCleanup(() => inbox.disconnect());
    await inbox.subscribe('inbox');

    expect(proxy.open('commands')).toHaveLength(1);
    expect(proxy.open('inbox')).toHaveLength(1);
    const received = new Promise((resolve) => inbox.once('message', (_, text) => resolve(text)));
    await client.publish('inbox', 'hello');
    expect(await received).toBe('hello');
  });

  it('delivers held bytes when the client has closed the connection', async () => {
    const { client, connection } = await arrange();
    connection.halfOpen();
    const late = client.set('late', '1');
    expect(await settled(late)).toBe(false);
    client.disconnect();
    await eventually(() => expect(connection.open).toBe(false));

    connection.deliver();

    await eventually(async () => expect(await server.run((redis) => redis.get('late'))).toBe('1'));
  });

  it('closes a connection at the server without informing the client', async () => {
    const { client, connection } = await arrange();
    const id = await client.client('ID');

    connection.closeAtServer();

    await eventually(async () => expect(await server.run((redis) => redis.client('LIST'))).not.toContain(`id=${id} `));
    expect(client.status).toBe('ready');
    expect(await settled(client.ping())).toBe(false);
    expect(connection.open).toBe(true);
  });

  it('replaces the reply to one request, and keeps the order of the others', async () => {
    const { client, connection } = await arrange();
    const replaced = connection.replaceReply(/^incr odd/i, '+QUEUED\r\n');

    const answers = await Promise.all([client.set('even', '2'), client.incr('odd'), client.get('even')]);

    await replaced;
    expect(answers).toEqual(['OK', 'QUEUED', '2']);
  });

  it('loses the reply to a request that the server has executed, and keeps the connection open', async () => {
    const { client, connection } = await arrange();
    const lost = connection.loseReply(/^incr lost/i);

    const answer = client.incr('lost');

    await lost;
    expect(await settled(answer)).toBe(false);
    expect(await server.run((redis) => redis.get('lost'))).toBe('1');
    expect(connection.open).toBe(true);
  });

  it('replies to requests in place of the server, in their order', async () => {
    const { client, connection } = await arrange();
    connection.intercept(/^set /i, '+QUEUED\r\n');

    const answers = await Promise.all([client.echo('a'), client.set('never', '1'), client.echo('b')]);
    connection.endIntercept();

    expect(answers).toEqual(['a', 'QUEUED', 'b']);
    expect(await client.get('never')).toBeNull();
  });

  it('delays both directions', async () => {
    const { client, connection } = await arrange();
    connection.delay(50);
    const startedAt = performance.now();

    await client.ping();

    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(99);
  });

  it('keeps new connections silent while the server does not respond, and refuses them when it is down', async () => {
    const { proxy, client } = await arrange();
    proxy.hold();
    const other = client.duplicate();
    onCleanup(() => other.disconnect());
    expect(await settled(other.ping())).toBe(false);
    expect(proxy.open()).toHaveLength(2);

    proxy.goDown();
    await eventually(() => expect(proxy.open()).toHaveLength(0));
    await proxy.resume();

    expect(await within(3_000, 'PING', client.ping())).toBe('PONG');
  });
});
