import { createClient } from 'redis';
import mutex from 'simple-redis-mutex';

const TTL_MS = 30_000;

export const adapter = {
  client: 'node-redis 5',
  sends: ['set', 'incr', 'evalsha', 'eval'],
  async open({ url }) {
    const redis = await createClient({ url }).connect();
    return { acquire: (key) => mutex.lock(redis, key, { timeout: TTL_MS }), release: (release) => release() };
  },
};
