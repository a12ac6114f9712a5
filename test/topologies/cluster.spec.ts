import { Cluster } from 'ioredis';

import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import type { AcquireAllAnswer } from '../../libs/distribute-lock/src/store/lock-store.js';
import { describeOnceContract } from '../contract/once-contract.js';
import { describeTicketsContract } from '../contract/tickets-contract.js';
import { describeCoreContract } from '../contract/core-contract.js';
import { describeNestingContract } from '../contract/nesting-contract.js';
import { describeReadWriteContract } from '../contract/read-write-contract.js';
import { worldOf } from '../contract/redis-world.js';
import { describeSemaphoreContract } from '../contract/semaphore-contract.js';
import { describeHeldOnPurposeContract } from '../contract/held-on-purpose-contract.js';
import { describeInspectingContract } from '../contract/inspecting-contract.js';
import { describeMultiKeyContract } from '../contract/multi-key-contract.js';
import { describeMultiKeyStoreContract } from '../contract/multi-key-store-contract.js';
import { describeStoreContract } from '../contract/store-contract.js';
import type { World } from '../contract/world.js';
import { onCleanup } from '../support/cleanup.js';
import { startRedisCluster } from '../support/redis-cluster.js';
import { testPrefix } from '../support/use-redis.js';

const cluster = await startRedisCluster();
const client = new Cluster(cluster.startNodes);
onCleanup(() => client.disconnect());

/** All keys with this prefix, on all masters. */
async function keysUnder(prefix: string): Promise<string[]> {
  const all = await Promise.all(client.nodes('master').map((node) => node.keys(`${prefix}*`)));
  return all.flat();
}

function worldWith(open: (prefix: string) => RedisLockStore): () => World {
  return () => {
    const prefix = testPrefix();
    return worldOf(client, prefix, { store: () => open(prefix), counted: false, keys: () => keysUnder(prefix) });
  };
}

const byNodes = worldWith((prefix) => RedisLockStore.open({ cluster: cluster.startNodes.slice(0, 1) }, { prefix }));
const byClient = worldWith((prefix) => RedisLockStore.open(client, { prefix }));

describe('RedisLockStore on a Cluster', () => describeStoreContract(byNodes));
describe('RedisLockStore over a Cluster client', () => describeStoreContract(byClient));
describe('RedisLockStore on a Cluster, several keys of one slot', () =>
  describeMultiKeyStoreContract(byNodes, '{tag}'));
describe('LockEngine on a Cluster', () => describeCoreContract(byNodes));
describe('LockEngine over a Cluster client', () => describeCoreContract(byClient));
describe('A nested call on a Cluster', () => describeNestingContract(byNodes));
describe('A semaphore on a Cluster', () => describeSemaphoreContract(byNodes));
describe('A read/write lock on a Cluster', () => describeReadWriteContract(byNodes));
describe('A key held on purpose on a Cluster', () => describeHeldOnPurposeContract(byNodes));
describe('Inspecting locks on a Cluster', () => describeInspectingContract(byNodes));
describe('Several keys on a Cluster', () => describeMultiKeyContract(byNodes));
describe('A detached lease on a Cluster', () => describeTicketsContract(byNodes));
describe('A detached lease of keys in one slot on a Cluster', () => describeTicketsContract(byNodes, '{tag}'));
describe('Ticks on a Cluster', () => describeOnceContract(byNodes));
describe('Several keys of one slot on a Cluster', () => describeMultiKeyContract(byNodes, '{tag}'));

describe('Keys in a Cluster', () => {
  const prefix = testPrefix();
  const names = new RedisKeys(prefix);
  const store = RedisLockStore.open({ cluster: cluster.startNodes }, { prefix });
  onCleanup(() => store.close());
  const ownerToken = `${'a'.repeat(22)}:1`;

  it.each(['plain', '{tag}:a', 'a:{tag}', '{', '}{a}', '{a', 'a{b}c{d}', 'a b'])('of the form %p work', async (key) => {
    expect(store.keyFault(key)).toBeUndefined();
    const request = { key, ownerToken, ttlMs: 5_000, wait: true, block: 1 };
    expect(await store.acquire(request)).toMatchObject({ outcome: 'granted' });
    expect(await store.acquire({ ...request, ownerToken: `${'b'.repeat(22)}:1` })).toMatchObject({
      outcome: 'queued',
    });
    const helpers = await Promise.all(
      client.nodes('master').map((node) => node.keys(`[fq]1:*${key.replace(/[{}]/g, '?')}*`)),
    );
    const ends = await Promise.all(helpers.flat().map((name) => client.pttl(name)));
    expect(ends.length).toBeGreaterThanOrEqual(2);
    for (const left of ends) expect(left).toBeGreaterThan(0);
    await store.release({ key, ownerToken });
  });

  it.each(['}', 'a}b', '{}', '{}a'])('of the form %p are refused', (key) => {
    expect(store.keyFault(key)).toContain('one slot');
  });

  it('of one slot have rising fencing tokens, although each has a separate counter', async () => {
    const keys = ['{one}:a', '{one}:b', '{one}:c'];
    const requests = keys.map((key, i) => ({
      key,
      ownerToken: `${'c'.repeat(22)}:${i}`,
      ttlMs: 5_000,
      wait: false,
      block: 1,
    }));
    const ahead = (Date.now() + 3_600_000) * 1_000;
    await client.set(names.fenceOf(`${prefix}{one}:b`), ahead, 'PX', 60_000);

    const [a, b, c] = await numbersOf(store.acquireAll!(requests));
    expect([a, b, c]).toEqual([ahead, ahead + 1, ahead + 2]);
    const ends = await Promise.all(keys.map((key) => client.pttl(names.fenceOf(prefix + key))));
    for (const left of ends) expect(left).toBeGreaterThan(500_000);
    await Promise.all(requests.map((request) => store.release(request)));
    const next = await Promise.all(requests.map((request) => store.acquire({ ...request, kind: 'exclusive' })));
    next.forEach((answer, i) => expect(answer).toMatchObject({ fencingToken: ahead + i + 1 }));
    await Promise.all(requests.map((request) => store.release(request)));
  });
});

async function numbersOf(acquired: PromiseLike<AcquireAllAnswer>): Promise<readonly number[]> {
  const answer = await acquired;
  return answer.outcome === 'granted' ? answer.fencingTokens : [];
}
