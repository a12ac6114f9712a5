import * as nodeRedis6 from '@redis/client';
import * as nodeRedis4 from 'node-redis-4';
import * as nodeRedis5 from 'node-redis-5';
import { createLocks, type LockError, type OpenedLocks } from 'nestjs-distribute-lock/core';

import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startRedisCluster } from '../support/redis-cluster.js';
import { startRedisServer } from '../support/redis-server.js';
import { documentedAcl, user } from './documented-acl.js';

const server = await startRedisServer();
const cluster = await startRedisCluster();
const ONE_PRIMARY = 'one primary, with Sentinel or without; each node of a quorum';
await server.run((redis) => redis.call('ACL', 'SETUSER', ...documentedAcl(ONE_PRIMARY), '+select'));
for (const { server: node } of cluster.nodes)
  await node.run((redis) => redis.call('ACL', 'SETUSER', ...documentedAcl('Redis Cluster, on every node')));

const { username, password } = user;
const DATABASE = 3;
const socket = { host: '127.0.0.1', port: server.port };
const url = `redis://${username}:${password}@127.0.0.1:${server.port}/${DATABASE}`;
const versions = { 4: nodeRedis4, 5: nodeRedis5, 6: nodeRedis6 } as unknown as Record<string, typeof nodeRedis6>;

const ignore = (): void => undefined;
/** Each test changes users below the connections of the others. */
const SILENT = { debug: ignore, log: ignore, warn: ignore };

async function open(connection: object): Promise<OpenedLocks> {
  const locks = await createLocks({ connection, log: SILENT });
  onCleanup(() => locks.close());
  return locks;
}

/** Value of the lock key in the database of the client, and the users of the connections. */
const inServer = (key: string) =>
  server.run(async (redis) => {
    await redis.select(DATABASE);
    const users = ((await redis.client('LIST')) as string).matchAll(/ user=(\S+)/g);
    return { held: (await redis.get(`lock:${key}`)) !== null, users: [...users].map(([, name]) => name) };
  });

describe.each(Object.keys(versions))('A client of node-redis %s as the connection', (version) => {
  const { createClient, createCluster } = versions[version];

  it.each([
    ['made with a URL', () => createClient({ url })],
    ['made with options', () => createClient({ socket, username, password, database: DATABASE })],
    ['its options with a URL', () => ({ url })],
    ['its options', () => ({ socket, username, password, database: DATABASE })],
  ])('gives server, user, password and database: %s', async (what, connection) => {
    const key = `${version} ${what}`;
    const locks = await open(connection());
    const lease = await locks.acquire(key);
    const { held, users } = await inServer(key);
    expect(held).toBe(true);
    expect(users).toContain(username);
    await lease.release();
  });

  it('gives the password that it has at each connect', async () => {
    const client = createClient({ socket, username, password, database: DATABASE });
    const locks = await open(client);
    await server.run((redis) => redis.call('ACL', 'SETUSER', username, 'resetpass', '>another'));
    client.options.password = 'another';
    await server.run((redis) => redis.client('KILL', 'USER', username));
    await eventually(async () => (await locks.acquire(`${version} changed`)).release(), 10_000);
    await server.run((redis) => redis.call('ACL', 'SETUSER', username, 'resetpass', `>${password}`));
  });

  it('gives the root nodes of a Cluster, or says that they cannot be read', async () => {
    const rootNodes = cluster.masters.map((node) => ({ socket: { host: '127.0.0.1', port: node.server.port } }));
    const options = { rootNodes, defaults: { username, password } };
    const client = createCluster(options);
    if (version === '4') await expect(createLocks({ connection: client })).rejects.toThrow('{ cluster: [nodes] }');
    else await (await (await open(client)).acquire('in a Cluster')).release();
    await (await (await open(options)).acquire('by options of a Cluster')).release();
  });
});

describe('What cannot be read from node-redis', () => {
  const { createClientPool, createSentinel, createClient } = nodeRedis6;
  const sentinels = { name: 'main', sentinelRootNodes: [{ host: '127.0.0.1', port: 26_379 }] };
  const credentials = async () => ({ username, password });

  it.each<[string, object, string]>([
    ['a pool', createClientPool({ url }), 'Pass the options of the client'],
    ['a client of Sentinel', createSentinel(sentinels), 'options of ioredis with "sentinels"'],
    [
      'a provider of credentials',
      createClient({ socket, credentialsProvider: { type: 'async-credentials-provider', credentials } }),
      'the function as option "credentials"',
    ],
  ])('is refused with what to pass: %s', async (_, connection, advice) => {
    const { code, message } = await createLocks({ connection }).then(
      () => ({ code: 'opened', message: '' }),
      (error: LockError) => error,
    );
    expect(code).toBe('LOCK_CONFIGURATION');
    expect(message).toContain('node-redis');
    expect(message).toContain(advice);
    expect(message).not.toContain(password);
  });
});
