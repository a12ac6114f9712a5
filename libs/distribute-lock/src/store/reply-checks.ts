import { processOf } from '../runtime/owner-token.js';
import { LockStoreError } from './lock-store.js';

/** `PTTL` returns -1 for a key without an expiry and -2 for a missing key. */
const NO_KEY = -2;
/** A Redis status such as OK or QUEUED. Other text may contain secrets. */
const STATUS = /^[A-Z]{1,16}$/;

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

/**
 * The error of a reply that no script of this library sends, for example `QUEUED` to a client inside `MULTI`. The
 * command may have taken effect, so it is undone. The message contains no owner token.
 */
export function unknownReply(reply: unknown): LockStoreError {
  return new LockStoreError(`Redis gave a reply that this library does not know: ${shown(reply)}.`, true);
}

function shown(reply: unknown): string {
  if (reply === null || reply === undefined) return 'nothing';
  if (typeof reply === 'number') return `the number ${reply}`;
  if (typeof reply === 'string') return STATUS.test(reply) ? `"${reply}"` : `a text of ${reply.length} characters`;
  if (!Array.isArray(reply)) return `a value of the type ${typeof reply}`;
  const code: unknown = reply[0];
  return `a list of ${reply.length} values${typeof code === 'number' ? ` with the code ${code}` : ''}`;
}
