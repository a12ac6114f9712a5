import { startRedisServer, type RedisServer, type RedisServerOptions } from './redis-server.js';

/** Starts `count` servers that know nothing of each other, as a quorum wants them. */
export function startPrimaries(count: number, options?: RedisServerOptions): Promise<readonly RedisServer[]> {
  return Promise.all(Array.from({ length: count }, () => startRedisServer(options)));
}
