import type { Check } from './check.js';
import { onEachServer } from './check.js';
import { failed, ok, skipped, warning } from './finding.js';
import { type Info, numberOf, readInfo } from './info.js';
import type { Server } from './target.js';

/** The oldest major versions that the library is tested with. */
const LEAST_REDIS = 7;
const LEAST_VALKEY = 8;
/** Shares of a limit above which little is left. */
const NEARLY_FULL = 0.9;

export const server: Check = {
  about: 'Product, version and mode of each server.',
  faults: 'Warns below Redis 7.0 and Valkey 8. Fails while the server loads its data.',
  run: ({ target }) =>
    onEachServer(target, async ({ client }) => {
      const info = await readInfo(client, 'server');
      const loading = (await readInfo(client, 'persistence')).get('loading') === '1';
      const { product, version, least } = versionOf(info);
      const text = `${product} ${version}, ${info.get('redis_mode') ?? 'unknown mode'}, up for ${upFor(info)}.`;
      if (loading) return failed(`${text} It loads its data, and refuses locks.`, 'Wait until it has loaded its data.');
      if (Number.parseInt(version, 10) >= least) return ok(text);
      return warning(`${text} The library is not tested with it.`, 'Use Redis 7.0 or newer, or Valkey 8 or newer.');
    }),
};

function versionOf(info: Info): { product: string; version: string; least: number } {
  const valkey = info.get('valkey_version');
  if (valkey !== undefined) return { product: 'Valkey', version: valkey, least: LEAST_VALKEY };
  return { product: 'Redis', version: info.get('redis_version') ?? '0', least: LEAST_REDIS };
}

function upFor(info: Info): string {
  const seconds = numberOf(info, 'uptime_in_seconds');
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} days`;
}

export const role: Check = {
  about: 'Whether each server accepts writes.',
  faults: 'Fails on a replica.',
  run: ({ target }) =>
    onEachServer(target, async ({ client }) => {
      const info = await readInfo(client, 'replication');
      if (info.get('role') === 'master') return ok('It is a primary.');
      const primary = `${info.get('master_host')}:${info.get('master_port')}`;
      return failed(
        `It is a replica of ${primary}, which accepts no writes. Every lock fails.`,
        `Connect to the primary ${primary}, or use redis+sentinel:// or redis+cluster://.`,
      );
    }),
};

export const memory: Check = {
  about: 'Memory in use, and its limit.',
  faults: 'Warns above 90 % of `maxmemory`. Fails when a server without eviction has reached it.',
  run: ({ target }) =>
    onEachServer(target, async ({ client }) => {
      const info = await readInfo(client, 'memory');
      const [used, most] = [numberOf(info, 'used_memory'), numberOf(info, 'maxmemory')];
      if (!(most > 0)) return ok(`${megabytes(used)} in use, without a limit.`);
      const text = `${megabytes(used)} of ${megabytes(most)} in use.`;
      const fix = 'Raise maxmemory, or use a separate Redis server for locks.';
      if (used >= most && info.get('maxmemory_policy') === 'noeviction')
        return failed(`${text} The server refuses new locks.`, fix);
      return used / most > NEARLY_FULL ? warning(text, fix) : ok(text);
    }),
};

const megabytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MiB`;

export const persistence: Check = {
  about: 'Whether a restart keeps the locks.',
  faults: 'Warns without `appendonly`. Fails when the server could not write its data.',
  run: ({ target }) =>
    onEachServer(target, async ({ client }) => {
      const info = await readInfo(client, 'persistence');
      const broken = ['rdb_last_bgsave_status', 'aof_last_write_status', 'aof_last_bgrewrite_status'].filter(
        (name) => info.get(name) === 'err',
      );
      if (broken.length > 0)
        return failed(
          `The server could not write its data (${broken.join(', ')}), so it may refuse writes.`,
          'Look at its log, its disk and its permissions.',
        );
      if (info.get('aof_enabled') === '1') return ok('The append-only file is on, so a restart keeps the locks.');
      return warning(
        'The append-only file is off, so a restart loses locks. Their holders find out at their next renewal.',
        'Set appendonly to yes.',
      );
    }),
};

export const connections: Check = {
  about: 'Connections of the server, and their limit.',
  faults: 'Warns above 90 % of `maxclients`.',
  run: ({ target }) =>
    onEachServer(target, async ({ client }) => {
      const info = await readInfo(client, 'clients');
      const [used, most] = [numberOf(info, 'connected_clients'), numberOf(info, 'maxclients')];
      if (!(most > 0)) return ok(`${used} clients are connected.`);
      const text = `${used} of at most ${most} clients are connected.`;
      return used / most > NEARLY_FULL ? warning(text, 'Raise maxclients, or close idle connections.') : ok(text);
    }),
};

export const replicas: Check = {
  about: 'Replicas of each primary, and whether they are in step.',
  faults: 'Warns about a replica that is not in step, and about a primary of Sentinel without a replica.',
  run: ({ target }) =>
    onEachServer(target, async ({ client }) => {
      const info = await readInfo(client, 'replication');
      const all = replicasOf(info);
      if (all.length === 0 && target.topology === 'Sentinel')
        return warning('The primary has no replica, so Sentinel has no successor for it.', 'Start a replica.');
      if (all.length === 0) return ok('No replicas.');
      const late = all.filter((words) => !words.includes('state=online'));
      const text = `${all.length} ${all.length === 1 ? 'replica' : 'replicas'}, ${all.length - late.length} in step.`;
      return late.length === 0 ? ok(text) : warning(text, 'Look at the log of the replica that is not in step.');
    }),
};

const replicasOf = (info: Info): string[] =>
  [...info].flatMap(([name, words]) => (/^slave\d+$/.test(name) ? [words] : []));

const WAIT_LIMIT_MS = 2_000;

export const wait: Check = {
  about: 'Whether replicas acknowledge a write by `WAIT`, which option `durability` needs.',
  faults: 'Warns when not all replicas acknowledge it within 2 s.',
  needs: ['role'],
  run: ({ target, locks }) =>
    onEachServer(target, async (one) => {
      const count = replicasOf(await readInfo(one.client, 'replication')).length;
      if (count === 0) return skipped('There are no replicas.');
      const key = target.keys.lock(await locks.keyOn(one));
      await one.client.set(key, 'doctor', 'PX', 1_000);
      const acknowledged = await one.client.wait(count, WAIT_LIMIT_MS);
      await one.client.del(key);
      const text = `${acknowledged} of ${count} replicas acknowledged a write.`;
      return acknowledged >= count
        ? ok(text)
        : warning(text, 'Look at the replicas, or set durability to fewer replicas.');
    }),
};

export const patterns: Check = {
  about: 'Clients that subscribe with a pattern, such as `PSUBSCRIBE *`.',
  faults: 'Warns about any: Redis counts them as receivers, so the process of a crashed waiter looks alive.',
  run: ({ target }) =>
    onEachServer(target, async ({ client }: Server) => {
      const count = Number(await client.call('PUBSUB', 'NUMPAT'));
      if (count === 0) return ok('No client subscribes with a pattern.');
      return warning(
        `Clients subscribe with ${count} patterns. If one matches nestjs-lock:*, a lock reaches the next waiter late after a waiter has crashed.`,
        'End these subscriptions, or keep their patterns away from nestjs-lock:*.',
      );
    }),
};
