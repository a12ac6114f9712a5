import { Redis } from 'ioredis';
import { createLock, IoredisAdapter } from 'redlock-universal';

const TTL_MS = 30_000;

export const adapter = {
  client: 'ioredis 6',
  sends: ['set', 'evalsha', 'eval', 'ping'],
  async open({ url }) {
    const redis = new IoredisAdapter(new Redis(url));
    return {
      async acquire(key) {
        const lock = createLock({ adapter: redis, key, ttl: TTL_MS, retryAttempts: Number.MAX_SAFE_INTEGER });
        return { lock, handle: await lock.acquire() };
      },
      release: ({ lock, handle }) => lock.release(handle),
    };
  },
};
