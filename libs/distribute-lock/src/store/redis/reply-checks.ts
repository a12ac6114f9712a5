import { processOf } from '../../runtime/owner-token.js';
import { LockStoreError } from '../lock-store.js';

/** PTTL answers -1 for a key without an end, and -2 for a key that is gone. */
const NO_KEY = -2;
/** A status of Redis, such as OK and QUEUED. Other text may be anything, also secrets. */
const STATUS = /^[A-Z]{1,16}$/;

/** What a reply says is believed only if it is of the shape, the type and the range that the script documents. */
export const isCount = (word: unknown): word is number => Number.isSafeInteger(word) && (word as number) >= 0;
export const isFlag = (word: unknown): word is 0 | 1 => word === 0 || word === 1;
export const isLeftMs = (word: unknown): word is number => Number.isSafeInteger(word) && (word as number) >= NO_KEY;

/** The first of `block` fencing tokens. */
export const isFencingToken = (word: unknown, block = 1): word is number =>
  Number.isSafeInteger(word) && (word as number) > 0 && Number.isSafeInteger((word as number) + block);

/** An owner token of the process of `ownerToken`. */
export const isTokenBeside = (word: unknown, ownerToken: string): word is string =>
  typeof word === 'string' && processOf(word) !== undefined && processOf(word) === processOf(ownerToken);

/**
 * A reply that no script of this library gives, for example `QUEUED` to a client inside MULTI. The command failed: whether it takes
 * effect is unknown, so it is undone. The message names no owner token.
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
