import { Redis } from 'ioredis';
import { Mutex, Semaphore } from 'redis-semaphore';

const TTL_MS = 30_000;

export const adapter = {
  client: 'ioredis 6',
  sends: ['set', 'evalsha', 'eval'],
  async open({ url }) {
    const redis = new Redis(url);
    return {
      async acquire(key, { permits } = {}) {
        const limits = { lockTimeout: TTL_MS, acquireTimeout: Infinity };
        const mutex =
          permits === undefined ? new Mutex(redis, key, limits) : new Semaphore(redis, key, permits, limits);
        await mutex.acquire();
        return mutex;
      },
      release: (mutex) => mutex.release(),
    };
  },
};
