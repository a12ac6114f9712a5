import { READERS } from '../lock-value.js';
import { permitsOfValue } from './host.js';
import { ARGV, KEYS, redis } from './server.js';

/**
 * Deletes the lock of a foreign client if its value is unchanged. Waiters repeat their attempts within 250 ms.
 *
 * Keys: the lock; the leases of readers; the leases of permits.
 * Arguments: the value of the foreign client.
 * @returns 1 if it was deleted, else 0
 */
export function runDeleteForeign(): number {
  const [lock, readers, held] = KEYS;
  const [value] = ARGV;
  if (redis.call('GET', lock) !== value) return 0;
  // A lock with leases has come in between, whose value looks like that of the foreign client.
  const isKind = value === READERS || permitsOfValue(value) !== undefined;
  if (isKind && redis.call('EXISTS', readers, held) > 0) return 0;
  return redis.call('DEL', lock);
}
