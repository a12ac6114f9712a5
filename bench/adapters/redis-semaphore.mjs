import { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';

const TTL_MS = 30_000;

export const adapter = {
  client: 'ioredis 6',
  sends: ['set', 'evalsha', 'eval'],
  async open({ url }) {
    const redis = new Redis(url);
    return {
      async acquire(key) {
        const mutex = new Mutex(redis, key, { lockTimeout: TTL_MS, acquireTimeout: Infinity });
        await mutex.acquire();
        return mutex;
      },
      release: (mutex) => mutex.release(),
    };
  },
};
