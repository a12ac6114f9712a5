import { DemoChild } from './child-process.js';
import type { KeptRedis } from './redis-keeper.js';
import { SettingError } from '../settings/setting-error.js';
import { lookForRedisServer } from './redis-server.js';
import type { Topology } from './topology.js';

/** Where the locks of the demo live. */
export interface LockSource {
  /** For `REDIS_URL` of the instances. */
  readonly connection: string;
  /** For the reader; never with a password. */
  readonly description: string;
  /** The process that keeps a private Redis, if there is one. */
  readonly keeper?: DemoChild<KeptRedis>;
}

const PRIVATE = {
  sentinel: 'a private primary with two replicas and three Sentinels',
  cluster: 'a private Redis Cluster of six nodes',
  quorum: 'a private quorum of five primaries',
} as const;

/** Takes `REDIS_URL`, else a private `redis-server`, else the memory of the one instance. */
export async function lockSource(
  env: NodeJS.ProcessEnv,
  own: (child: DemoChild<KeptRedis>) => void,
  topology: Topology,
): Promise<LockSource> {
  const url = topology === 'single' ? env.REDIS_URL : undefined;
  if (url === 'memory') return memory('REDIS_URL asks for it');
  if (url) return { connection: url, description: `the Redis of REDIS_URL (${addressOf(url)})` };
  const { usable, reason } = await lookForRedisServer();
  if (!usable && topology !== 'single') throw new SettingError(`--topology cannot be had: ${reason}.`);
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
  return { connection: 'memory', description: `the memory of one process, because ${reason}` };
}

/** Host and port only: the rest of the URL may hold a password. */
function addressOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'not a URL';
}
