import { DemoChild } from './child-process.js';
import type { KeptRedis } from './redis-keeper.js';
import { SettingError } from '../settings/setting-error.js';
import { lookForRedisServer } from './redis-server.js';
import type { Topology } from './topology.js';

/** The store of the locks of the demo. */
export interface LockSource {
  /** The `REDIS_URL` of the instances. */
  readonly connection: string;
  /** For the user; never contains a password. */
  readonly description: string;
  /** The process of a private Redis, if there is one. */
  readonly keeper?: DemoChild<KeptRedis>;
}

const PRIVATE = {
  sentinel: 'a private primary with two replicas and three Sentinels',
  cluster: 'a private Redis Cluster of six nodes',
  quorum: 'a private quorum of five primaries',
} as const;

/** Uses `REDIS_URL`, else a private `redis-server`, else the memory of one process, which all instances share. */
export async function lockSource(
  env: NodeJS.ProcessEnv,
  own: (child: DemoChild<KeptRedis>) => void,
  topology: Topology,
): Promise<LockSource> {
  const url = topology === 'single' ? env.REDIS_URL : undefined;
  if (url === 'memory') return memory('REDIS_URL says so');
  if (url) return { connection: url, description: `the Redis of REDIS_URL (${addressOf(url)})` };
  const { usable, reason } = await lookForRedisServer();
  if (!usable && topology !== 'single') throw new SettingError(`--topology needs a redis-server: ${reason}.`);
  if (!usable) return memory(reason);
  const keeper = DemoChild.start<KeptRedis>('starter/redis-keeper.js', {
    env: { ...env, DEMO_TOPOLOGY: topology },
    apart: true,
  });
  own(keeper);
  const { connection } = await keeper.ready;
  const what = topology === 'single' ? `a private redis-server on ${addressOf(connection)}` : PRIVATE[topology];
  return { connection, description: `${what}, which ends with the demo`, keeper };
}

function memory(reason: string): LockSource {
  return { connection: 'memory', description: `the memory of one process with all instances, because ${reason}` };
}

/** Host and port only, because the rest of the URL may contain a password. */
function addressOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'not a URL';
}
