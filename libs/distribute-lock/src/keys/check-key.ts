import { LockKeyError } from '../errors.js';

/** The limit keeps callers from filling Redis with long keys. */
export const MAX_KEY_BYTES = 1024;

/** A UTF-16 code unit takes 1 to 3 bytes in UTF-8, so shorter strings need no count of bytes. */
const SURELY_SHORT = Math.floor(MAX_KEY_BYTES / 3);

/**
 * Returns why a key is invalid, or `undefined` if it is valid. The text never contains the key.
 * @internal
 */
export function keyFault(key: unknown): string | undefined {
  if (typeof key !== 'string') return `is ${typeText(key)}, not a string`;
  if (key === '') return 'is empty';
  if (key.length > MAX_KEY_BYTES || (key.length > SURELY_SHORT && Buffer.byteLength(key) > MAX_KEY_BYTES)) {
    return `is longer than ${MAX_KEY_BYTES} bytes in UTF-8`;
  }
  return hasLoneSurrogate(key) ? 'contains a lone surrogate' : undefined;
}

/** Like {@link keyFault}, for keys that code passes: only templates of `@DistributeLock` are filled. */
export function plainKeyFault(key: unknown): string | undefined {
  const fault = keyFault(key);
  if (fault !== undefined || !(key as string).includes('#{')) return fault;
  return 'contains "#{", but keys that code passes have no placeholders; write lockKey`order:${id}`';
}

/** What a missing value or an object leaves in a text. Within a longer word, `NaN` may be part of an id. */
const MISSING = /(?<![A-Za-z\d])(?:undefined|NaN)(?![A-Za-z\d])|\[object \w/;

/** Like {@link plainKeyFault}, for results of key functions. */
export function resultFault(key: unknown): string | undefined {
  const fault = plainKeyFault(key);
  if (fault !== undefined || !MISSING.test(key as string)) return fault;
  return 'contains "undefined", "NaN" or "[object", so a value of it is missing';
}

/** A lone surrogate has no UTF-8 form: all of them would be encoded as the same character and share one lock. */
export function hasLoneSurrogate(text: string): boolean {
  return !text.isWellFormed();
}

/**
 * Rejects an invalid key.
 * @param method - the caller in the message, such as `LockService.withLock`
 * @param faultOf - the check to apply
 * @throws LockKeyError when the key is empty, not a string, not valid Unicode or over 1 KiB in UTF-8
 * @internal
 */
export function checkKey(
  key: unknown,
  method: string,
  source: 'request' | 'code' = 'code',
  faultOf = keyFault,
): asserts key is string {
  const fault = faultOf(key);
  if (fault === undefined) return;
  throw new LockKeyError(`The key given to ${method} ${fault}.`, {
    method,
    source,
    ...(typeof key === 'string' ? { key } : undefined),
  });
}

/** The type of a value for messages. Never contains the value. */
export function typeText(value: unknown): string {
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
    return false; // a revoked proxy throws
  }
}

/** The limit of keys per call, because the list may come from a request. */
export const MOST_KEYS = 100;

/**
 * Returns the keys without duplicates in ascending order. The order excludes deadlocks between callers.
 * @param method - the caller in the message
 * @param source - the origin of the list
 * @param faultOf - the check to apply to each key
 * @throws LockKeyError when the list is empty or too long, or when a key is invalid
 */
export function orderedKeys(
  given: readonly string[],
  method: string,
  source: 'request' | 'code' = 'code',
  faultOf = keyFault,
): readonly string[] {
  for (const key of given) checkKey(key, method, source, faultOf);
  const keys = [...new Set(given)].sort(ascending);
  if (keys.length > 0 && keys.length <= MOST_KEYS) return keys;
  const fault = keys.length === 0 ? 'is empty' : `has ${keys.length} keys; at most ${MOST_KEYS} are allowed`;
  throw new LockKeyError(`The list of keys given to ${method} ${fault}.`, { method, source });
}

/** Compares code units, so that the order does not depend on the locale of the process. */
function ascending(one: string, other: string): number {
  return one < other ? -1 : 1;
}
