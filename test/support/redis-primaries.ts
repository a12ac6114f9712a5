import { startRedisServer, type RedisServer, type RedisServerOptions } from './redis-server.js';

/** Starts `count` independent servers, as a quorum needs them. */
export function startPrimaries(count: number, options?: RedisServerOptions): Promise<readonly RedisServer[]> {
  return Promise.all(Array.from({ length: count }, () => startRedisServer(options)));
}
