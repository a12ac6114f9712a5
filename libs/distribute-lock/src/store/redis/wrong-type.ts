import { LockStoreError } from '../lock-store.js';
import type { RedisClient } from './redis-client.js';
import { redacted } from './redis-errors.js';
import { isSortedSet } from './redis-keys.js';

export const isWrongType = (error: Error): boolean => error.message.includes('WRONGTYPE');

/** Adds the names of the keys that hold a value of another type. Each key is read to find out. */
export async function namingKeys(error: Error, keys: readonly string[], client: RedisClient): Promise<Error> {
  const wrong = await Promise.all(
    [...new Set(keys)].map(async (key) => {
      try {
        await (isSortedSet(key) ? client.zcard(key) : client.get(key));
        return undefined;
      } catch (refused) {
        return String(refused).includes('WRONGTYPE') ? JSON.stringify(redacted(key)) : undefined;
      }
    }),
  );
  const names = wrong.filter((name) => name !== undefined).join(', ');
  if (names === '') return error;
  const message = `A key of this library holds a value of another type. Delete ${names}. ${error.message}`;
  return new LockStoreError(message, false);
}
