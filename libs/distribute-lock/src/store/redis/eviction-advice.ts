import { isCluster, type RedisClient } from './redis-client.js';

/** Policies by which a full server evicts locks; locks have a ttl, so `volatile-` policies evict them too. */
const EVICTS = /^maxmemory_policy:((?:allkeys|volatile)-\S+)/m;
const UNLIMITED = /^maxmemory:0\s*$/m;

/**
 * Warns about servers that may evict locks. Uses `INFO`, which includes the policy and needs no permission to read the
 * configuration.
 */
export async function evictionAdvice(client: RedisClient): Promise<readonly string[]> {
  const servers = isCluster(client) ? client.nodes('master') : [client];
  // A server that rejects INFO is skipped.
  const infos = await Promise.all(servers.map((server) => server.info('memory').catch(() => '')));
  const policies = infos.flatMap((info) => (UNLIMITED.test(info) ? [] : (EVICTS.exec(info)?.[1] ?? [])));
  return [...new Set(policies)].map(
    (policy) =>
      `Redis may evict locks when its memory is full (maxmemory-policy ${policy}). Two holders may then run at the same time. ` +
      'Set the policy to noeviction, or use a separate Redis server for locks.',
  );
}
