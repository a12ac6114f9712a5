import { Logger } from '@nestjs/common';
import type { ClusterNode } from 'ioredis';

import type { LockStore } from '../../store/lock-store.js';
import { MemoryLockStore } from '../../store/memory/memory-lock-store.js';
import { RedisLockStore } from '../../store/redis/redis-lock-store.js';
import { connectQuorum } from './connect-quorum.js';
import { checkRedisOptions, has, isRedisClient, isRedisUrl, wrong } from './connection-checks.js';
import type { ClusterConnectionOptions } from './lock-module-options.js';

const STORE_METHODS = ['connect', 'subscribe', 'acquire', 'release', 'renew', 'close'];
const WAYS =
  'a Redis URL, options of ioredis, { cluster: [nodes], options }, a client of ioredis, a list of three or more primaries, ' +
  'a LockStore, or "memory"';

/**
 * Makes the store of a connection, without connecting yet. Clients and stores are recognised by their methods: an
 * application may well have two copies of ioredis.
 *
 * @param option - name of the option, for messages, which never repeat the value: it may hold a password
 * @throws LockConfigurationError when it is nothing that locks can live on
 */
export function connectStore(option: string, connection: unknown, prefix: string): LockStore {
  if (connection === undefined || connection === null || connection === '') {
    throw wrong(option, `is ${connection === '' ? 'empty' : String(connection)}, but it must be ${WAYS}`);
  }
  if (typeof connection === 'string') return fromText(option, connection, prefix);
  if (typeof connection !== 'object') throw wrong(option, `is a ${typeof connection}, but it must be ${WAYS}`);
  if (Array.isArray(connection)) return connectQuorum(option, connection, prefix);
  if (has(connection, ['acquire', 'release', 'renew'])) return completeStore(option, connection);
  if (isRedisClient(connection)) return RedisLockStore.over(connection, { prefix });
  return fromOptions(option, connection, prefix);
}

function fromText(option: string, text: string, prefix: string): LockStore {
  if (text === 'memory') {
    warnOfMemory();
    return new MemoryLockStore();
  }
  if (isRedisUrl(text)) return RedisLockStore.open(text, { prefix });
  throw wrong(option, 'is not a Redis URL: write redis://host:port or rediss://host:port, or "memory"');
}

function fromOptions(option: string, options: object, prefix: string): LockStore {
  if ('cluster' in options) return fromCluster(option, options as Partial<ClusterConnectionOptions>, prefix);
  return RedisLockStore.open(checkRedisOptions(option, options, WAYS), { prefix });
}

function fromCluster(option: string, given: Partial<ClusterConnectionOptions>, prefix: string): LockStore {
  const { cluster: nodes, options = {}, ...unknown } = given;
  const [other] = Object.keys(unknown);
  if (other !== undefined) throw wrong(`${option}.${other}`, 'is not known: options of ioredis stand in "options"');
  if (!Array.isArray(nodes) || nodes.length === 0) throw wrong(`${option}.cluster`, 'must be a list of nodes');
  if (!nodes.every(isNode)) throw wrong(`${option}.cluster`, 'has a node that is neither { host, port }, URL nor port');
  if (typeof options !== 'object' || options === null) throw wrong(`${option}.options`, 'must be an object');
  return RedisLockStore.openCluster(nodes, options, { prefix });
}

/** As with a single server, an empty host is hardly what was meant. */
function isNode(node: unknown): node is ClusterNode {
  if (typeof node === 'number') return Number.isInteger(node) && node > 0 && node < 65_536;
  if (typeof node === 'string') return /^(rediss?:\/\/)?[^/\s]+:\d+/.test(node);
  return typeof node === 'object' && node !== null && typeof (node as { host?: unknown }).host === 'string'
    ? (node as { host: string }).host !== ''
    : false;
}

function completeStore(option: string, store: object): LockStore {
  const missing = STORE_METHODS.filter((name) => !has(store, [name]));
  if (missing.length > 0) throw wrong(option, `is a LockStore without ${missing.join(', ')}`);
  return store as LockStore;
}

function warnOfMemory(): void {
  if (process.env['NODE_ENV'] === 'test' || process.env['JEST_WORKER_ID'] !== undefined) return;
  new Logger('LockModule').warn(
    'Locks live in the memory of this process ("memory"): other processes are not kept out.',
  );
}
