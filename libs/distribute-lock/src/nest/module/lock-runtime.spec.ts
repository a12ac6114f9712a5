import { MemoryLockStore } from '../../store/memory/memory-lock-store.js';
import { RedisLockStore } from '../../store/redis/redis-lock-store.js';
import { withDurability } from './lock-runtime.js';

describe('withDurability', () => {
  const durability = { replicas: 1, timeoutMs: 100 };

  it('leaves a store alone when nothing is asked for', () => {
    const store = new MemoryLockStore();
    expect(withDurability('connection', store, undefined)).toBe(store);
  });

  it('asks replicas of a primary for what they have', async () => {
    const store = RedisLockStore.open('redis://127.0.0.1:1', { prefix: 'lock:' });
    const durable = withDurability('connection', store, durability);
    expect(durable).not.toBe(store);
    expect(durable.kinds).toEqual(store.kinds);
    await durable.close();
  });

  it('refuses a store that has no replicas, instead of promising what it cannot keep', () => {
    expect(() => withDurability('connections.reports', new MemoryLockStore(), durability)).toThrow(
      'Option "durability" cannot be kept by "connections.reports"',
    );
  });
});
