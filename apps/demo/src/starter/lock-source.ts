import { DemoChild } from './child-process.js';
import type { KeptRedis } from './redis-keeper.js';
import { lookForRedisServer } from './redis-server.js';

/** Where the locks of the demo live. */
export interface LockSource {
  /** For `REDIS_URL` of the instances. */
  readonly connection: string;
  /** For the reader; never with a password. */
  readonly description: string;
  /** The process that keeps a private Redis, if there is one. */
  readonly keeper?: DemoChild<KeptRedis>;
}

/** Takes `REDIS_URL`, else a private `redis-server`, else the memory of the one instance. */
export async function lockSource(
  env: NodeJS.ProcessEnv,
  own: (child: DemoChild<KeptRedis>) => void,
): Promise<LockSource> {
  const url = env.REDIS_URL;
  if (url === 'memory') return memory('REDIS_URL asks for it');
  if (url) return { connection: url, description: `the Redis of REDIS_URL (${addressOf(url)})` };
  const { usable, reason } = await lookForRedisServer();
  if (!usable) return memory(reason);
  const keeper = DemoChild.start<KeptRedis>('starter/redis-keeper.js', { env, apart: true });
  own(keeper);
  const { port } = await keeper.ready;
  const connection = `redis://127.0.0.1:${port}`;
  return { connection, description: `a private redis-server on 127.0.0.1:${port}, which ends with the demo`, keeper };
}

function memory(reason: string): LockSource {
  return { connection: 'memory', description: `the memory of one process, because ${reason}` };
}

/** Host and port only: the rest of the URL may hold a password. */
function addressOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'not a URL';
}
