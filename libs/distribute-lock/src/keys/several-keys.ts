import { LockKeyError } from '../errors.js';
import { checkKey } from './check-key.js';

/** More keys than anybody locks on purpose; a list may come from a request. */
export const MOST_KEYS = 100;

/**
 * The keys as they are taken: each once, in ascending order, so that no two callers wait for each other in a circle.
 * @param method - what the message calls the caller
 * @param source - who gave the list
 * @throws LockKeyError when the list is empty or too long, or a key cannot name a lock
 */
export function orderedKeys(
  given: readonly string[],
  method: string,
  source: 'request' | 'code' = 'code',
): readonly string[] {
  for (const key of given) checkKey(key, method, source);
  const keys = [...new Set(given)].sort(ascending);
  if (keys.length > 0 && keys.length <= MOST_KEYS) return keys;
  const fault = keys.length === 0 ? 'is empty' : `has ${keys.length} keys; ${MOST_KEYS} are the most`;
  throw new LockKeyError(`The list of keys given to ${method} ${fault}.`, { method, source });
}

/** By code units: the same in every process, whatever its language. */
function ascending(one: string, other: string): number {
  return one < other ? -1 : 1;
}
