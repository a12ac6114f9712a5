import { validUntil } from '../lease/grant.js';
import { CLAIM_WINDOW_MS, OFFERED_NUMBERS } from '../store/protocol.js';
import type { Attempt } from './attempt.js';
import type { Granted } from './granted.js';
import { CONFIRMED_WITHIN_MS, isConfirmed } from './local-passing.js';

/**
 * The grant of an offer on which the first caller may begin without a claim, because it surely stands for a while.
 *
 * When the offer was made is not known here: its message may have been on its way for any time. But nobody can have offered
 * anything to a token before it was first sent, so the offer ends no earlier than a claim window after that. (Nor is it
 * believed for longer than a ttl, which is how long after a loss of data somebody may believe in a lease.) It must stand for
 * long enough to be confirmed, and nothing else may be under way under the token.
 */
export function provenOffer(
  attempt: Attempt,
  { fencingToken, block = OFFERED_NUMBERS }: { readonly fencingToken: number; readonly block: number | undefined },
  now: number,
): Granted | undefined {
  const { line, ownerToken, since } = attempt;
  const options = line.first?.call.options;
  if (options === undefined || attempt.inFlight || attempt.lastError !== undefined) return undefined;
  const { ttlMs } = options;
  const offeredUntil = validUntil(since, Math.min(CLAIM_WINDOW_MS, ttlMs));
  if (!isConfirmed(options) || offeredUntil - now < CONFIRMED_WITHIN_MS) return undefined;
  return { ownerToken, ttlMs, sentAt: now, block, fencingToken, waiting: 0, offeredUntil };
}
