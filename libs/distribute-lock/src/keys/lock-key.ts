import { LockKeyError } from '../errors.js';
import { checkKey, hasLoneSurrogate, plainKeyFault } from './check-key.js';
import { encodeWith, faultBetween, faultOfValue, reservedCharacters, textOfValue } from './encode-key.js';

const METHOD = 'lockKey';

/** A value of a key. @public */
export type KeyPart = string | number | bigint | boolean;

/**
 * Renders the key that the template of a decorator produces from the same values: ``lockKey`acc:${id}` `` equals `acc:#{arg0}` for every
 * `id`, so `LockService` and `@DistributeLock` exclude each other.
 *
 * In values, `%`, `{`, `}`, `:`, `/` and `|` are encoded as `%XX`. If the text between two values has none of these, one character of it is
 * encoded, too: the first that is neither letter nor digit, or else the first.
 * @throws LockKeyError when a value is empty, `null`, `undefined`, not finite or an object, or the key is longer than 1 KiB
 * @example
 * ```ts
 * await locks.withLock(lockKey`acc:${id}`, () => charge(id));
 * ```
 * @public
 */
export function lockKey(literals: TemplateStringsArray, ...values: readonly KeyPart[]): string {
  const reserved = reservedCharacters(checked(literals));
  let key = literals[0];
  values.forEach((value, i) => {
    const text = textOfValue(value);
    if (text === undefined) throw refusal(`Value ${i + 1} of a key rendered by lockKey is ${faultOfValue(value)}.`);
    key += encodeWith(reserved, text) + literals[i + 1];
  });
  checkKey(key, METHOD, 'code', plainKeyFault);
  return key;
}

function checked(literals: TemplateStringsArray): TemplateStringsArray {
  const fault = faultBetween(literals);
  if (fault !== undefined)
    throw refusal(`The key "${literals.join('${}')}" rendered by lockKey is malformed: ${fault}.`);
  if (literals.some(hasLoneSurrogate)) {
    throw refusal(`The key "${literals.join('${}')}" rendered by lockKey contains a lone surrogate.`);
  }
  return literals;
}

const refusal = (message: string): LockKeyError => new LockKeyError(message, { method: METHOD, source: 'code' });
