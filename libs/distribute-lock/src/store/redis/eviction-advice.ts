import { isCluster, type RedisClient } from './redis-client.js';

/** A server that is full throws keys away by these rules; locks have a TTL, so `volatile-` is no better. */
const EVICTS = /^maxmemory_policy:((?:allkeys|volatile)-\S+)/m;
const UNLIMITED = /^maxmemory:0\s*$/m;

/** Tells of a server that may drop locks to make room. INFO says it too, and needs no right to read the configuration. */
export async function evictionAdvice(client: RedisClient): Promise<readonly string[]> {
  const servers = isCluster(client) ? client.nodes('master') : [client];
  // What cannot be asked, or is not allowed, is not worth a word.
  const infos = await Promise.all(servers.map((server) => server.info('memory').catch(() => '')));
  const policies = infos.flatMap((info) => (UNLIMITED.test(info) ? [] : (EVICTS.exec(info)?.[1] ?? [])));
  return [...new Set(policies)].map(
    (policy) =>
      `Redis may evict locks when it is full (maxmemory-policy ${policy}), and then two holders run at once. ` +
      'Set the policy to noeviction, or give locks a Redis of their own.',
  );
}
