import { createHash, randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';

const COMPARE_AND_DELETE = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;
const SHA = createHash('sha1').update(COMPARE_AND_DELETE).digest('hex');
const TTL_MS = 30_000;

/** The bare commands of the pattern in the Redis documentation. */
export class RawLocks {
  process = randomUUID();
  sequence = 0;

  constructor(redis) {
    this.redis = redis;
  }

  static async open(url) {
    const redis = new Redis(url);
    await redis.script('LOAD', COMPARE_AND_DELETE);
    return new RawLocks(redis);
  }

  /** @returns undefined when the lock is held */
  async try(key) {
    const token = `${this.process}:${(this.sequence += 1)}`;
    const granted = await this.redis.set(key, token, 'PX', TTL_MS, 'NX');
    return granted === null ? undefined : { key, token };
  }

  release({ key, token }) {
    return this.redis.evalsha(SHA, 1, key, token);
  }
}

/** The bare commands, which cannot wait. */
export const adapter = {
  client: 'ioredis 6',
  sends: ['set', 'evalsha'],
  async open({ url }) {
    const locks = await RawLocks.open(url);
    return { acquire: (key) => locks.try(key), release: (held) => locks.release(held) };
  },
};
