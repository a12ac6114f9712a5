import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Cluster, Redis } from 'ioredis';

import { isLockError } from '../errors.js';
import type { LockStore } from '../store/lock-store.js';
import { MemoryLockStore } from '../store/memory/memory-lock-store.js';
import { QuorumLockStore } from '../store/quorum/quorum-lock-store.js';
import { RedisLockStore } from '../store/redis/redis-lock-store.js';
import { connectStore } from './connect-store.js';

const door = { name: 'LockModule', log: new Logger('LockModule') };
const durability = { replicas: 1, timeoutMs: 100 };
const connect = (connection: unknown, settings = {}) =>
  connectStore('connection', connection, { prefix: 'lock:', ...settings }, door);

/** The options with which the store connects. */
const connectionOf = (store: LockStore): unknown =>
  (store as unknown as { connection: { client: Redis } }).connection.client.options;

describe('connectStore', () => {
  it.each([
    ['redis://127.0.0.1:6390'],
    ['rediss://user:secret@example.test:6390/3'],
    [{ host: '127.0.0.1', port: 6390 }],
    [{ path: '/run/redis.sock' }],
    [{ sentinels: [{ host: '127.0.0.1', port: 26_379 }], name: 'main' }],
    [{ port: 6390 }],
    [{ cluster: [{ host: '127.0.0.1', port: 7_000 }, 'redis://127.0.0.1:7001', 7_002] }],
    [{ cluster: [{ host: 'a' }], options: { redisOptions: { password: 'hunter2' } } }],
  ])('creates a store for %j without connecting yet', async (connection) => {
    const store = connect(connection);
    expect(store).toBeInstanceOf(RedisLockStore);
    await store.close();
  });

  it('recognises a client by its methods and never closes it', async () => {
    const client = new Redis({ lazyConnect: true });
    const quit = jest.spyOn(client, 'quit');
    const disconnect = jest.spyOn(client, 'disconnect');
    const store = connect(client);
    expect(store).toBeInstanceOf(RedisLockStore);
    await store.close();
    expect([quit.mock.calls, disconnect.mock.calls]).toEqual([[], []]);

    // The class may come from another copy of ioredis.
    const foreign = Object.setPrototypeOf(client, Object.create(Redis.prototype)) as Redis;
    expect(connect(foreign)).toBeInstanceOf(RedisLockStore);
    client.disconnect();
  });

  it('watches one client for many modules without a warning of Node', async () => {
    const warned: string[] = [];
    const warn = (warning: Error): unknown => warned.push(warning.message);
    process.on('warning', warn);
    const client = new Redis({ lazyConnect: true });
    const most = client.getMaxListeners();
    const stores = Array.from({ length: 24 }, () => connect(client));
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', warn);
    expect(warned).toEqual([]);
    await Promise.all(stores.map((store) => store.close()));
    expect(client.getMaxListeners()).toBe(most);
    client.disconnect();
  });

  it('uses a client of a Cluster and removes its listeners', async () => {
    const client = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
    const events = client.eventNames();
    const disconnect = jest.spyOn(client, 'disconnect');
    const store = connect(client);
    expect(store.keyFault?.('a}b')).toContain('Redis Cluster');
    expect(store.keyFault?.('{a}b')).toBeUndefined();
    await store.close();
    expect(disconnect).not.toHaveBeenCalled();
    expect(client.eventNames()).toEqual(events);
    client.disconnect();
  });

  it('accepts a list of nodes of every form as a quorum', async () => {
    const client = new Redis(6391, { lazyConnect: true });
    const store = connect(['redis://a:6390', { host: 'b' }, client]);
    expect(store).toBeInstanceOf(QuorumLockStore);
    await store.close();
    expect(client.status).toBe('wait');
    client.disconnect();
  });

  it('accepts any object with all methods of a store', () => {
    const store = new MemoryLockStore();
    expect(connect(store)).toBe(store);
    expect(() => connect({ acquire() {}, release() {}, renew() {} })).toThrow('without connect, subscribe, close');
  });

  it('keeps options of ioredis that have an unused option of node-redis', async () => {
    const options = { host: 'a', port: 6390, tls: {}, url: undefined, socket: {} };
    const store = connect(options);
    expect(store).toBeInstanceOf(RedisLockStore);
    await store.close();
    expect(connectionOf(store)).toMatchObject({ host: 'a', port: 6390, tls: {} });
  });

  it('accepts replicas for a primary, and never ignores that a store has none', async () => {
    await connect('redis://127.0.0.1:1', { durability }).close();
    const nodes = ['redis://a:1', 'redis://b:1', 'redis://c:1'];
    for (const connection of ['memory', new MemoryLockStore(), nodes])
      expect(() => connect(connection, { durability })).toThrow('Option "durability" is not supported by "connection"');
  });

  it.each<[string, object | string, string]>([
    [
      'node-redis without readable settings',
      { evalSha() {}, duplicate() {}, on() {}, sendCommand() {} },
      'version 4 of node-redis, whose settings cannot be read',
    ],
    ['options of node-redis without a server', { socket: {}, password: 'hunter2' }, 'has neither "url" nor a host'],
    ['a URL with half an escape', 'redis://:50%zz@a', 'is not a Redis URL'],
    ['a URL with a password in no UTF-8', 'redis://:%ff@a', 'is not a Redis URL'],
    ['options of node-redis with another URL', { url: 'http://a' }, 'is not a Redis URL'],
    ['options of node-redis with half a password', { url: 'redis://:50%zz@a' }, 'is not a Redis URL'],
    [
      'options of node-redis with an unset host',
      { socket: { host: undefined, port: 6379 } },
      '"connection.socket.host" is empty',
    ],
    ['a socket that is none', { socket: null }, '"connection.socket" must be an object'],
    [
      'root nodes with an unset URL',
      { rootNodes: [{ url: undefined }] },
      '"connection.rootNodes[0]" has neither "url"',
    ],
    ['root nodes that are none', { rootNodes: [null] }, '"connection.rootNodes[0]" must be an object'],
    [
      'a provider of credentials of a Cluster',
      { rootNodes: [{ url: 'redis://a' }], defaults: { credentialsProvider: {} } },
      'as option "credentials"',
    ],
    ['a provider of credentials', { url: 'redis://a', credentialsProvider: {} }, 'as option "credentials"'],
    ['GLIDE', { customCommand() {}, exec() {} }, 'is a client of Valkey GLIDE'],
    ['options of GLIDE', { addresses: [{ host: 'a', port: 1 }] }, 'has options of a client of Valkey GLIDE'],
    [
      'options of a Sentinel client of node-redis',
      { name: 'main', sentinelRootNodes: [{ host: 'a', port: 1 }] },
      'Pass options of ioredis: { sentinels: [{ host, port }], name }',
    ],
    ['ioredis-mock', { evalsha() {}, duplicate() {}, on() {}, options: {}, shaScripts: {} }, 'Pass "memory" in tests'],
    ['Upstash', { evalsha() {}, pipeline() {}, client: {}, opts: {} }, 'Pass the rediss:// URL'],
    ['a mock', { get: jest.fn(), set: jest.fn() }, 'Pass "memory" in tests instead of a mock'],
    [
      'an automatic mock',
      { evalsha: jest.fn(), duplicate: jest.fn(), on: jest.fn(), sendCommand: jest.fn() },
      'instead of a mock',
    ],
  ])('rejects %s, and says what to pass', (_, client, advice) => {
    expect(() => connect(client)).toThrow(advice);
    expect(() => connect(['redis://a:1', 'redis://b:1', client])).toThrow(/Option "connection\[2\]/);
  });

  it.each<[unknown, string]>([
    [undefined, 'of LockModule is undefined. Set the environment variable from which it is read, such as REDIS_URL.'],
    [null, 'of LockModule is null'],
    ['', 'of LockModule is empty. Set the environment variable'],
    [42, 'is a number'],
    [() => 'memory', 'is a function'],
    ['localhost:6379', 'write redis://host:port'],
    ['http://localhost', 'not a Redis URL'],
    ['redis://', 'not a Redis URL'],
    ['redis://a/x', 'has a database that is not a whole number'],
    ['redis://a?db=1.5', 'has a database that is not a whole number'],
    [{ host: 'a', db: 'x' }, '"connection.db" is not a whole number'],
    [{}, 'neither host, port, path nor sentinels'],
    [{ host: undefined, port: 6379 }, '"connection.host" is empty'],
    [{ host: '' }, '"connection.host" is empty'],
    [new Map(), 'is a Map'],
    [{ cluster: 'redis://a:1' }, '"connection.cluster" must be a list'],
    [{ cluster: [] }, '"connection.cluster" must be a list'],
    [
      {
        cluster: [
          { host: 'a', port: 1 },
          { host: '', port: 1 },
        ],
      },
      'has a node that is neither',
    ],
    [{ cluster: [undefined] }, 'has a node that is neither'],
    [{ cluster: ['a'] }, 'has a node that is neither'],
    [{ cluster: [0] }, 'has a node that is neither'],
    [{ cluster: [{ host: 'a' }], options: null }, '"connection.options" must be an object'],
    [{ cluster: [{ host: 'a' }], password: 'hunter2' }, '"connection.password" is not known'],
    [[], 'is an empty list, but a quorum needs at least 3'],
    [['redis://a', 'redis://b'], 'is a list of 2, but a quorum needs at least 3'],
    [['redis://a', 'redis://b', 'redis://a'], '"connection[2]" is the same server as "connection[0]"'],
    [['redis://a', 'redis://b', 'redis://u:p@a:6379/3'], '"connection[2]" is the same server as "connection[0]"'],
    [['redis://a', { host: 'b' }, { host: 'b', port: 6379, db: 2 }], '"connection[2]" is the same server'],
    [['redis://a', 'redis://b', 'memory'], '"connection[2]" is not a node of a quorum'],
    [['redis://a', 'redis://b', undefined], '"connection[2]" is not a node of a quorum'],
    [['redis://a', 'redis://b', { host: '' }], '"connection[2].host" is empty'],
    [['redis://a', 'redis://b', new MemoryLockStore()], '"connection[2]" is a MemoryLockStore'],
    [
      ['redis://a', 'redis://b', new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true })],
      '"connection[2]" is a Redis Cluster',
    ],
  ])('rejects %p', (connection, message) => {
    const error = failure(() => connect(connection));
    expect(isLockError(error, 'LOCK_CONFIGURATION')).toBe(true);
    expect(error.message).toContain(message);
    expect(error.message).toContain('"connection');
  });

  it('never repeats a value that may include a password', () => {
    expect(failure(() => connect('hunter2@localhost:6379')).message).not.toContain('hunter2');
    expect(failure(() => connect({ password: 'hunter2' })).message).not.toContain('hunter2');
  });

  it('warns that "memory" is not distributed, except in tests', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    expect(connect('memory')).toBeInstanceOf(MemoryLockStore);
    expect(warn).not.toHaveBeenCalled();
    const { NODE_ENV, JEST_WORKER_ID } = process.env;
    try {
      process.env['NODE_ENV'] = 'production';
      delete process.env['JEST_WORKER_ID'];
      connect('memory');
    } finally {
      Object.assign(process.env, { NODE_ENV, JEST_WORKER_ID });
    }
    expect(warn).toHaveBeenCalledTimes(1);
    warn.mockRestore();
  });
});

function failure(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error('not refused');
}
