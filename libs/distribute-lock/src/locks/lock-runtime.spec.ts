import { MemoryLockStore } from '../store/memory/memory-lock-store.js';
import { RedisLockStore } from '../store/redis/redis-lock-store.js';
import { withDurability } from './lock-runtime.js';

describe('withDurability', () => {
  const durability = { replicas: 1, timeoutMs: 100 };

  it('returns the store itself without the option', () => {
    const store = new MemoryLockStore();
    expect(withDurability('connection', store, undefined)).toBe(store);
  });

  it('wraps the store of a primary', async () => {
    const store = RedisLockStore.open('redis://127.0.0.1:1', { prefix: 'lock:' });
    const durable = withDurability('connection', store, durability);
    expect(durable).not.toBe(store);
    expect(durable.kinds).toEqual(store.kinds);
    await durable.close();
  });

  it('rejects a store without replicas', () => {
    expect(() => withDurability('connections.reports', new MemoryLockStore(), durability)).toThrow(
      'Option "durability" is not supported by "connections.reports"',
    );
  });
});
