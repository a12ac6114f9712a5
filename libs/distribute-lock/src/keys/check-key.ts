import { LockKeyError } from '../errors.js';

/** Longer keys are refused: a caller must not be able to fill Redis with names. */
export const MAX_KEY_BYTES = 1024;

/** No UTF-16 code unit takes more than 3 bytes in UTF-8, so shorter texts need no counting; none takes less than one. */
const SURELY_SHORT = Math.floor(MAX_KEY_BYTES / 3);

/**
 * Says what is wrong with a finished key, or `undefined` when it can be used. Never repeats the key.
 * @internal
 */
export function keyFault(key: unknown): string | undefined {
  if (typeof key !== 'string') return `is ${kindOf(key)}, not a string`;
  if (key === '') return 'is empty';
  if (key.length > MAX_KEY_BYTES || (key.length > SURELY_SHORT && Buffer.byteLength(key) > MAX_KEY_BYTES)) {
    return `is longer than ${MAX_KEY_BYTES} bytes in UTF-8`;
  }
  return hasLoneSurrogate(key) ? 'contains half a surrogate pair' : undefined;
}

/** Half a surrogate pair has no UTF-8 form: all of them would be written as one character, and so share one lock. */
export function hasLoneSurrogate(text: string): boolean {
  return !text.isWellFormed();
}

/**
 * Refuses a key that cannot name a lock.
 * @param method - what the message calls the caller, such as `LockService.withLock`
 * @throws LockKeyError when the key is empty, not a string, not valid Unicode or over 1 KiB in UTF-8
 * @internal
 */
export function checkKey(key: unknown, method: string, source: 'request' | 'code' = 'code'): asserts key is string {
  const fault = keyFault(key);
  if (fault === undefined) return;
  throw new LockKeyError(`The key given to ${method} ${fault}.`, {
    method,
    source,
    ...(typeof key === 'string' ? { key } : undefined),
  });
}

/** What a value is, in words that can stand in a message. Never the value. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (isArray(value)) return 'an array';
  if (typeof value === 'undefined') return 'undefined';
  if (typeof value === 'number' && !Number.isFinite(value)) return 'not a finite number';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function isArray(value: unknown): boolean {
  try {
    return Array.isArray(value);
  } catch {
    return false; // a revoked proxy refuses even this question
  }
}

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
