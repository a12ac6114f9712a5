import { kindOf, MAX_KEY_BYTES } from './check-key.js';

/** A digit takes more than three bits, so a key has no room for numbers with more. */
const MOST_BITS = MAX_KEY_BYTES * 4;

/** The text of a value that may stand in a key; `undefined` when {@link faultOfValue} says why it may not. */
export function textOfValue(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined;
  if (typeof value === 'boolean') return String(value);
  // Writing a bigint takes longer than in proportion to its size, so what cannot fit is not written at all.
  return typeof value === 'bigint' && BigInt.asIntN(MOST_BITS, value) === value ? String(value) : undefined;
}

/** Why a value has no text for a key, in words that never repeat it. */
export function faultOfValue(value: unknown): string {
  if (typeof value === 'bigint') return `a bigint with too many digits for a key of ${MAX_KEY_BYTES} bytes`;
  const found = value === '' ? 'an empty string' : kindOf(value);
  return `${found}, but it must be a non-empty string, a finite number, a bigint or a boolean`;
}
