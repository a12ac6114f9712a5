import type { KeyValueClient } from '../guide/key-value-store.js';

/** A key-value database in memory. */
export function newKeyValueClient(): KeyValueClient {
  const values = new Map<string, { value: string; endsAt: number }>();
  const numbers = new Map<string, number>();
  const live = (key: string) => {
    const found = values.get(key);
    return found !== undefined && found.endsAt > Date.now() ? found : undefined;
  };
  return {
    async setIfAbsent(key, value, ttlMs) {
      const found = live(key);
      if (found !== undefined) return { value: found.value, remainingMs: found.endsAt - Date.now() };
      values.set(key, { value, endsAt: Date.now() + ttlMs });
      return undefined;
    },
    async extend(key, value, ttlMs, exact) {
      const found = live(key);
      if (found?.value !== value) return false;
      found.endsAt = exact ? Date.now() + ttlMs : Math.max(found.endsAt, Date.now() + ttlMs);
      return true;
    },
    async deleteIf(key, value) {
      return live(key)?.value === value && values.delete(key);
    },
    async add(key, count) {
      numbers.set(key, (numbers.get(key) ?? 0) + count);
      return numbers.get(key)!;
    },
  };
}
