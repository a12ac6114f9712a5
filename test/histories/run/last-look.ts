import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';

import { isRecord } from '../replay/dump-keys.js';
import { RedisKeys } from '../../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { PREFIX } from '../../fault/support/lock-engine.js';
import { monotonicMs } from '../../support/monotonic.js';
import type { RedisServer } from '../../support/redis-server.js';

/** The only key that may stay: the counter of fencing tokens. */
const COUNTER = new RedisKeys(PREFIX).fence;

/** The keys and queue entries of locks in Redis. The records of processes and tickets expire later. */
async function standing(redis: Redis): Promise<string[]> {
  const keys = (await redis.keys('*')).filter((key) => key !== COUNTER && !isRecord(key));
  return Promise.all(keys.map((key) => described(redis, key)));
}

async function described(redis: Redis, key: string): Promise<string> {
  const type = await redis.type(key);
  const value =
    type === 'zset' ? (await redis.zrange(key, '0', '-1')).join(' ') : type === 'string' ? await redis.get(key) : type;
  return `${key} = ${value} (${await redis.pttl(key)} ms)`;
}

/** Waits until Redis contains no lock; returns what is left after the time limit. */
export async function whatStays(server: RedisServer, withinMs: number): Promise<string[]> {
  const until = monotonicMs() + withinMs;
  return server.run(async (redis) => {
    for (;;) {
      const left = await standing(redis);
      if (left.length === 0 || monotonicMs() >= until) return left;
      await sleep(50);
    }
  });
}

/** Channels with at least one subscriber. */
export async function channels(server: RedisServer): Promise<string[]> {
  return server.run(async (redis) => (await redis.pubsub('CHANNELS', '*')) as string[]);
}

/** Keys without a TTL, except the counter. */
export async function persistentKeys(server: RedisServer): Promise<string[]> {
  return server.run(async (redis) => {
    const keys = (await redis.keys('*')).filter((key) => key !== COUNTER);
    const ttls = await Promise.all(keys.map((key) => redis.pttl(key)));
    return keys.filter((_, i) => ttls[i] === -1);
  });
}
