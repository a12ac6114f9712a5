import { validUntil } from './lease/grant.js';
import { CLAIM_WINDOW_MS, OFFERED_NUMBERS } from '../store/protocol.js';
import type { Attempt } from './attempt.js';
import type { Granted } from './granted.js';
import { CONFIRMED_WITHIN_MS, isConfirmed } from './local-passing.js';

/**
 * The grant of an offer on which the first caller may begin without a claim, because the offer is guaranteed for some time.
 *
 * The process does not know when the offer was made, because the message may have been delayed. But the store cannot offer a
 * lock to a token before the token was first sent. The offer therefore ends no earlier than one claim window after that. The
 * process trusts the offer for at most one ttl, which is the limit for every lease after a loss of data. The remaining time must
 * suffice for a confirmation, and no command of the token may be in flight.
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
