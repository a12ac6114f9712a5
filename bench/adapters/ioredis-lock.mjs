import { createLock } from '@microfleet/ioredis-lock';
import { Redis } from 'ioredis-5';

const TTL_MS = 30_000;

export const adapter = {
  client: 'ioredis 5',
  sends: ['set', 'evalsha', 'eval'],
  async open({ url }) {
    const redis = new Redis(url);
    return {
      acquire: (key) => createLock(redis, { timeout: TTL_MS, retries: Number.MAX_SAFE_INTEGER }).acquire(key),
      release: (lock) => lock.release(),
    };
  },
};
