import { Redis, type RedisOptions } from 'ioredis';

import { connectStore } from '../../libs/distribute-lock/src/locks/connect-store.js';
import { ownerOf } from '../../libs/distribute-lock/src/store/quorum/ballot.js';
import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { onCleanup } from '../support/cleanup.js';
import { startPrimaries } from '../support/redis-primaries.js';
import { describeOnceContract } from '../contract/once-contract.js';
import { describeNoTicketsContract } from '../contract/tickets-contract.js';
import { describeCoreContract } from '../contract/core-contract.js';
import { describeNestingContract } from '../contract/nesting-contract.js';
import { describeHeldOnPurposeContract } from '../contract/held-on-purpose-contract.js';
import { describeMultiKeyContract } from '../contract/multi-key-contract.js';
import { describeStoreContract } from '../contract/store-contract.js';
import type { World } from '../contract/world.js';
import { documentedAcl, user } from './documented-acl.js';

const PREFIX = 'lock:';
const servers = await startPrimaries(5);
// Only the permissions that docs/guide/deployment.md lists.
for (const server of servers) {
  await server.run((redis) =>
    redis.call('ACL', 'SETUSER', ...documentedAcl('one primary, with Sentinel or without; each node of a quorum')),
  );
}
const clients = servers.map(({ url }) => new Redis(url));
onCleanup(() => clients.forEach((client) => client.disconnect()));
const keys = new RedisKeys(PREFIX);

/** The value of more than half of the nodes. */
function majority<T>(values: readonly T[]): T | undefined {
  return values.find((value) => values.filter((other) => other === value).length > values.length / 2);
}

function quorumWorld(options: RedisOptions = {}): World {
  return {
    handsOver: false,
    counted: true,
    exclusiveOnly: true,
    lacks: ['acquireAll', 'force', 'hints', 'inspect', 'order', 'read', 'semaphore', 'steal', 'tickets'],
    store: () =>
      connectStore(
        'connection',
        servers.map(({ port }) => Object.assign({ host: '127.0.0.1', port }, user, options)),
        { prefix: PREFIX },
        { name: 'LockModule', log: console },
      ),
    owner: async (key) => {
      const owners = await Promise.all(clients.map((client) => client.get(keys.lock(key))));
      const owner = majority(owners);
      return owner === undefined || owner === null ? undefined : ownerOf(owner);
    },
    leftMs: async (key) => {
      const left = await Promise.all(clients.map((client) => client.pttl(keys.lock(key))));
      return left.sort((a, b) => a - b)[2];
    },
    overwrite: async (key, owner, ttlMs) => {
      const lock = keys.lock(key);
      for (const client of clients) {
        if (owner === undefined) await client.del(lock);
        else if (ttlMs === undefined) await client.set(lock, owner);
        else await client.set(lock, owner, 'PX', ttlMs);
      }
    },
    waiting: async (key) => {
      const waiting = await Promise.all(clients.map((client) => client.zcard(keys.queue(keys.lock(key)))));
      return waiting.sort((a, b) => a - b)[2];
    },
    leftovers: async () => {
      const all = await Promise.all(clients.map((client) => client.keys(`${PREFIX}*`)));
      return [...new Set(all.flat())].map((name) => name.slice(PREFIX.length));
    },
  };
}

describe('QuorumLockStore', () => describeStoreContract(quorumWorld));
describe('QuorumLockStore with clients that return numbers as text', () =>
  describeStoreContract(() => quorumWorld({ stringNumbers: true })));
describe('LockEngine on a quorum', () => describeCoreContract(quorumWorld));
describe('A nested call on a quorum', () => describeNestingContract(quorumWorld));
describe('A key held on purpose on a quorum', () => describeHeldOnPurposeContract(quorumWorld));
describe('Several keys on a quorum', () => describeMultiKeyContract(quorumWorld));
// The last one, because the markers of ticks stay.
describe('A detached lease on a quorum', () => describeNoTicketsContract(quorumWorld));
describe('Ticks on a quorum', () => describeOnceContract(quorumWorld));
