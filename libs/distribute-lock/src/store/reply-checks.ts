import { processOf } from '../runtime/owner-token.js';

/** `PTTL` returns -1 for a key without an expiry and -2 for a missing key. */
const NO_KEY = -2;

/** A reply is accepted only if it has the shape, types and ranges that the script documents. */
export const isCount = (word: unknown): word is number => Number.isSafeInteger(word) && (word as number) >= 0;
export const isFlag = (word: unknown): word is 0 | 1 => word === 0 || word === 1;
export const isLeftMs = (word: unknown): word is number => Number.isSafeInteger(word) && (word as number) >= NO_KEY;

/** The first of `block` fencing tokens. */
export const isFencingToken = (word: unknown, block = 1): word is number =>
  Number.isSafeInteger(word) && (word as number) > 0 && Number.isSafeInteger((word as number) + block);

/** Whether the word is an owner token of the process of `ownerToken`. */
export const isTokenBeside = (word: unknown, ownerToken: string): word is string =>
  typeof word === 'string' && processOf(word) !== undefined && processOf(word) === processOf(ownerToken);
