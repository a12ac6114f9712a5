import type { RedisOptions } from 'ioredis';

/** A failed command is told at once; asking again is ours. */
const MAX_RETRIES = 1;
const LONGEST_PAUSE_MS = 1_000;

/** The options of a connection of our own: what the user gave, over what a lock needs. */
export function ownOptions(options: RedisOptions): RedisOptions {
  return {
    maxRetriesPerRequest: MAX_RETRIES,
    retryStrategy: (times: number) => Math.min(25 * 2 ** times, LONGEST_PAUSE_MS) * (0.8 + 0.4 * Math.random()),
    connectTimeout: 2_000,
    // A connection that is being closed while it is being opened would keep the process alive for longer.
    disconnectTimeout: 500,
    ...options,
    lazyConnect: true,
  };
}
