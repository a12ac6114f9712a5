import { Cluster, Redis } from 'ioredis';

import {
  quorumScript,
  lockScript,
  semaphoreScript,
} from '../../libs/distribute-lock/src/store/generated/lua-scripts.js';
import type { LockStore } from '../../libs/distribute-lock/src/store/lock-store.js';
import { QuorumLockStore } from '../../libs/distribute-lock/src/store/quorum/quorum-lock-store.js';
import { openMember } from '../../libs/distribute-lock/src/store/quorum/node-connection.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { locksOn, type Locks } from '../fault/support/lock-engine.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startRedisCluster } from '../support/redis-cluster.js';
import { startRedisServer } from '../support/redis-server.js';
import { tenantAcl, tenantUser, type Tenant } from './documented-acl.js';

const ONE_PRIMARY = 'one primary, with Sentinel or without; each node of a quorum';
const CLUSTER = 'Redis Cluster, on every node';
const TENANTS: readonly Tenant[] = [
  { name: 'shop', prefix: 'shop:' },
  { name: 'bank', prefix: 'lock:bank:' },
  { name: 'mail', prefix: 'lock:', keyPrefix: 'mail:' },
  { name: 'post', prefix: 'lock:', keyPrefix: '{post}:' },
];
const OPTIONS = { ttl: '20s', wait: '10s' } as const;
const REFUSED = /NOPERM|ACL failure|can't publish to the channel/;

const [server, cluster] = await Promise.all([startRedisServer(), startRedisCluster()]);
const nodes = await Promise.all([1, 2, 3].map(() => startRedisServer()));
for (const tenant of TENANTS) {
  for (const { run } of [server, ...nodes].map((each) => ({ run: each.run.bind(each) })))
    await run((redis) => redis.call('ACL', 'SETUSER', ...tenantAcl(ONE_PRIMARY, tenant)));
  for (const node of cluster.nodes)
    await node.server.run((redis) => redis.call('ACL', 'SETUSER', ...tenantAcl(CLUSTER, tenant)));
}

type Client = Redis | Cluster;

function kept<T extends Client>(client: T): T {
  client.on('error', () => {});
  onCleanup(() => client.disconnect());
  return client;
}

const optionsOf = (port: number, tenant: Tenant) => ({
  port,
  ...tenantUser(tenant),
  ...(tenant.keyPrefix === undefined ? {} : { keyPrefix: tenant.keyPrefix }),
});
const onPrimary = (tenant: Tenant): Redis => kept(new Redis(optionsOf(server.port, tenant)));
const onCluster = (tenant: Tenant): Cluster => {
  const { keyPrefix } = tenant;
  const options = { redisOptions: tenantUser(tenant), ...(keyPrefix === undefined ? {} : { keyPrefix }) };
  return kept(new Cluster(cluster.startNodes, options));
};

interface Place {
  readonly name: string;
  readonly open: (tenant: Tenant) => LockStore;
  /** A client of the tenant without its own prefix. */
  readonly raw: (tenant: Tenant) => Client;
  readonly admins: readonly Redis[];
  readonly kinds: boolean;
}

const bare = ({ name, prefix }: Tenant): Tenant => ({ name, prefix });
const PLACES: readonly Place[] = [
  {
    name: 'one primary',
    open: (tenant) => RedisLockStore.open(onPrimary(tenant), { prefix: tenant.prefix }),
    raw: (tenant) => onPrimary(bare(tenant)),
    admins: [kept(new Redis(server.url))],
    kinds: true,
  },
  {
    name: 'a Cluster',
    open: (tenant) => RedisLockStore.open(onCluster(tenant), { prefix: tenant.prefix }),
    raw: (tenant) => onCluster(bare(tenant)),
    admins: cluster.nodes.map((node) => kept(new Redis(node.server.url))),
    kinds: true,
  },
  {
    name: 'a quorum',
    open: (tenant) =>
      new QuorumLockStore(nodes.map(({ port }) => openMember(kept(new Redis(optionsOf(port, tenant))), tenant.prefix))),
    raw: (tenant) => kept(new Redis(optionsOf(nodes[0].port, bare(tenant)))),
    admins: nodes.map(({ url }) => kept(new Redis(url))),
    kinds: false,
  },
];

/** Two processes of the tenant. */
function processes(place: Place, tenant: Tenant): readonly [Locks, Locks] {
  const [first, second] = [0, 1].map(() => locksOn(place.open(tenant)));
  for (const { engine } of [first, second]) onCleanup(() => engine.close());
  return [first, second];
}

/** Holds, waits and hands over. Fails when the waiter polls, because polling takes longer. */
async function handOver([holder, waiter]: readonly [Locks, Locks], key: string, options: object): Promise<void> {
  const lease = await holder.acquire(key, { ...OPTIONS, ...options });
  const waits = waiter.acquire(key, { ...OPTIONS, ...options });
  await new Promise((resolve) => setTimeout(resolve, 300));
  const releasedAt = performance.now();
  await lease.release();
  const next = await waits;
  expect(performance.now() - releasedAt).toBeLessThan(1_000);
  await next.release();
}

/** Holds and waits for locks of all kinds, to create all keys of a tenant. Returns a function that ends that. */
async function allKinds(place: Place, [holder, waiter]: readonly [Locks, Locks]): Promise<() => Promise<void>> {
  const kinds = place.kinds ? ([{}, { kind: 'read' }, { kind: 'semaphore', permits: 1 }] as const) : ([{}] as const);
  const leases = await Promise.all(kinds.map((kind, i) => holder.acquire(`held-${i}`, { ...OPTIONS, ...kind })));
  const behind = kinds.map((kind, i) =>
    waiter.acquire(`held-${i}`, { ...OPTIONS, ...('kind' in kind && kind.kind === 'read' ? { kind: 'write' } : kind) }),
  );
  await new Promise((resolve) => setTimeout(resolve, 300));
  return async () => {
    for (const lease of leases) await lease.release();
    for (const wait of behind) await (await wait).release();
  };
}

describe.each(PLACES)('Tenants of $name with the ACL of the deployment guide', (place) => {
  const worlds = TENANTS.map((tenant) => ({ tenant, both: processes(place, tenant) }));

  it('use locks of every kind under the same keys at once, and no caller polls', async () => {
    await Promise.all(
      worlds.map(async ({ both }) => {
        await handOver(both, 'job', {});
        const lease = await both[0].acquireMultiKey(['{several}:a', '{several}:b'], OPTIONS);
        await lease.release();
        if (!place.kinds) return;
        await handOver(both, 'strict', { fair: 'strict' });
        await handOver(both, '{tagged}:doc', { kind: 'write' });
        await handOver(both, 'pool', { kind: 'semaphore', permits: 1 });
        const [writer, operator] = both;
        const downgraded = await writer.acquire('doc', { ...OPTIONS, kind: 'write' });
        await downgraded.downgrade();
        await (await operator.acquire('doc', { ...OPTIONS, kind: 'read' })).release();
        await downgraded.release();
        const forced = await writer.acquire('forced', OPTIONS);
        expect(await operator.engine.inspect('forced')).toMatchObject({ kind: 'exclusive' });
        expect(await operator.engine.forceRelease('forced')).toBe(true);
        await eventually(() => expect(forced.isHeld()).toBe(false), 1_000);
      }),
    );
    for (const { both } of worlds) {
      for (const { events } of both) expect(events.filter(({ type }) => type === 'degraded')).toEqual([]);
    }
  });

  it.each(TENANTS)('cannot reach anything of $name', async (victim) => {
    const { both } = worlds.find(({ tenant }) => tenant === victim)!;
    const end = await allKinds(place, both);
    const { keyPrefix = '', prefix } = victim;
    const names = new RedisKeys(keyPrefix + prefix);
    const all = await Promise.all(place.admins.map(async (admin) => admin.keys(`*${names.prefix}*`)));
    const keys = [...new Set(all.flat())];
    const channels = await Promise.all(
      place.admins.map(async (admin) => (await admin.pubsub('CHANNELS', names.channel('').concat('*'))) as string[]),
    );
    const inboxes = [...new Set(channels.flat())];
    expect(keys.length).toBeGreaterThanOrEqual(place.kinds ? 8 : 2);
    expect(inboxes).toHaveLength(2);

    for (const { tenant } of worlds.filter((world) => world.tenant !== victim)) {
      const client = place.raw(tenant);
      const refused = async (what: string, command: Promise<unknown>): Promise<void> => {
        const outcome = await command.then(
          (reply) => `${what} answered ${JSON.stringify(reply)}`,
          (error: Error) => error.message,
        );
        expect(outcome).toMatch(REFUSED);
      };
      for (const key of keys) {
        await refused(`GET ${key}`, client.get(key));
        await refused(`SET ${key}`, client.set(key, 'x'));
        await refused(`DEL ${key}`, client.del(key));
        await refused(`ZADD ${key}`, client.zadd(key, 0, 'x'));
        await refused(`PTTL ${key}`, client.pttl(key));
        await refused(`EVAL ${key}`, client.eval("return redis.call('DEL', KEYS[1])", 1, key));
      }
      const lock = `${names.prefix}held-0`;
      for (const { lua } of [lockScript, semaphoreScript, quorumScript])
        await refused('a script of the library', client.eval(lua, 1, lock, 'd x:1'));
      for (const inbox of inboxes) {
        await refused(`PUBLISH ${inbox}`, client.publish(inbox, 'c x y'));
        await refused(`EVAL ${inbox}`, client.eval(`return redis.call('PUBLISH', ARGV[1], 'x')`, 0, inbox));
        const listening = kept(new Redis(place.admins[0].options.port!, tenantUser(tenant)));
        await refused(`SUBSCRIBE ${inbox}`, listening.subscribe(inbox));
        await refused('PSUBSCRIBE', listening.psubscribe('nestjs-lock:*'));
      }
    }
    for (const { both: locks } of worlds) await handOver(locks, 'afterwards', {});
    await end();
  });
});
