import { kindOf, MAX_KEY_BYTES } from './check-key.js';

/**
 * Characters that every value has percent-encoded: `%` begins an escape, `{` and `}` are tags of Redis Cluster, and `:`, `/` and `|`
 * separate the parts of most keys. So a value cannot continue the literal text of another template with these separators.
 */
const ALWAYS = ['%', '{', '}', ':', '/', '|'];

const PART = reservedCharacters([]);

/** What a value must not contain as it is: the characters above, and those between two holes of this key. */
export function reservedCharacters(literals: readonly string[]): RegExp {
  const characters = new Set([...ALWAYS, ...literals.slice(1, -1).join('')]);
  const codes = [...characters].map((character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
  return new RegExp(`[${codes.join('')}]`, 'gu');
}

export function encodeWith(reserved: RegExp, value: string): string {
  return value.replace(reserved, percentEncode);
}

/** Why the text between two holes makes different values one key; `undefined` when it does not. */
export function faultBetween(literals: readonly string[]): string | undefined {
  const between = literals.slice(1, -1);
  if (between.includes('')) {
    return 'two holes need a character between them, or "a" + "bc" and "ab" + "c" are one lock';
  }
  // Inside values it begins an escape, so between values it would be ambiguous.
  return between.some((text) => text.includes('%')) ? '"%" cannot stand between two holes' : undefined;
}

/**
 * Encodes a value for a key of your own, exactly as a template with one hole does: `%`, `{`, `}`, `:`, `/` and `|` become `%XX`,
 * everything else stays.
 *
 * Use {@link lockKey} for whole keys; it also encodes the separators between two values.
 * @example
 * ```ts
 * encodeKeyPart('refund:7'); // 'refund%3A7'
 * ```
 * @public
 */
export function encodeKeyPart(value: string): string {
  return encodeWith(PART, value);
}

function percentEncode(character: string): string {
  return Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

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
