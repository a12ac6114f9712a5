import { typeText, MAX_KEY_BYTES } from './check-key.js';

/**
 * Characters that are percent-encoded in every value: `%` starts an escape, `{` and `}` delimit tags of Redis Cluster, and `:`, `/` and `|`
 * separate the parts of most keys. So a value cannot imitate the literal text of another template with these separators.
 */
const ALWAYS = ['%', '{', '}', ':', '/', '|'];

const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;

const PART = reservedCharacters([]);

/**
 * The characters to encode in values: those above, and one of each text between two placeholders that has none of them.
 *
 * So each of these texts has a character that no value contains, escapes aside. Its first occurrence after a value is part of the
 * text, at a known place, and shows where the value ends. Read from left to right, a key has one tuple of values only.
 */
export function reservedCharacters(literals: readonly string[]): RegExp {
  const reserved = new Set(ALWAYS);
  for (const text of literals.slice(1, -1)) {
    const characters = [...text];
    if (characters.some((character) => reserved.has(character))) continue;
    reserved.add(characters.find((character) => !LETTER_OR_DIGIT.test(character)) ?? text);
  }
  const codes = [...reserved].map((character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
  return new RegExp(`[${codes.join('')}]`, 'gu');
}

export function encodeWith(reserved: RegExp, value: string): string {
  return value.replace(reserved, percentEncode);
}

/** Returns why the text between two placeholders is ambiguous, or `undefined` if it is not. */
export function faultBetween(literals: readonly string[]): string | undefined {
  const between = literals.slice(1, -1);
  if (between.includes('')) {
    return 'two placeholders need a character between them, or "a" + "bc" and "ab" + "c" are one lock';
  }
  // Inside values `%` starts an escape, so it would be ambiguous between values.
  return between.some((text) => text.includes('%')) ? '"%" is not allowed between two placeholders' : undefined;
}

/**
 * Encodes a value for a key, as a template with one placeholder does: `%`, `{`, `}`, `:`, `/` and `|` become `%XX`. All other
 * characters remain.
 *
 * Use {@link lockKey} for whole keys; it also encodes a separator such as `-` or `_` between two values.
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

/** A decimal digit takes more than three bits, so longer numbers do not fit into a key. */
const MOST_BITS = MAX_KEY_BYTES * 4;

/** The text of a value in a key; `undefined` if the value is not allowed (see {@link faultOfValue}). */
export function textOfValue(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined;
  if (typeof value === 'boolean') return String(value);
  // The time to format a bigint grows faster than its size, so skip numbers that do not fit.
  return typeof value === 'bigint' && BigInt.asIntN(MOST_BITS, value) === value ? String(value) : undefined;
}

/** Returns why a value is not allowed in a key. The text never contains the value. */
export function faultOfValue(value: unknown): string {
  if (typeof value === 'bigint') return `a bigint with too many digits for a key of ${MAX_KEY_BYTES} bytes`;
  const found = value === '' ? 'an empty string' : typeText(value);
  return `${found}, but it must be a non-empty string, a finite number, a bigint or a boolean`;
}
