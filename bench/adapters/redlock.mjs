import { Redis } from 'ioredis-5';
import Redlock from 'redlock';

const TTL_MS = 30_000;

export const adapter = {
  client: 'ioredis 5',
  sends: ['evalsha', 'eval'],
  async open({ url }) {
    const locks = new Redlock([new Redis(url)], { retryCount: -1 });
    locks.on('error', () => undefined); // emitted for every contended attempt
    return { acquire: (key) => locks.acquire([key], TTL_MS), release: (lock) => lock.release() };
  },
};
