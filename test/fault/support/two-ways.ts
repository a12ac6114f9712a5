import type { LockStore } from '../../../libs/distribute-lock/src/store/lock-store.js';
import { RedisLockStore } from '../../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { PREFIX } from './lock-engine.js';

/** A store whose acquire commands use another connection than all others, so that one can overtake the other. */
export function storeOfTwoWays(questions: string, allElse: string): LockStore {
  const [acquiring, plain] = [questions, allElse].map((url) => RedisLockStore.open(url, { prefix: PREFIX }));
  return Object.assign(Object.create(plain) as LockStore, {
    acquire: acquiring.acquire.bind(acquiring),
    acquireAll: acquiring.acquireAll,
    connect: async () => void (await Promise.all([acquiring.connect(), plain.connect()])),
    close: async () => void (await Promise.all([acquiring.close(), plain.close()])),
  });
}
