import { NO_VOTE } from '../lua/generated/reply-codes.js';
import type { NodeReply } from './node-line.js';
import type { PollEnd } from './poll.js';

/** Why an owner has no majority. */
export interface Refusal {
  /** Another owner has a majority and holds the lock. Otherwise the votes may be split, without a holder. */
  readonly held: boolean;
  /** Milliseconds until enough votes expire for a majority; -1 when unknown. */
  readonly remainingMs: number;
  /** A foreign client holds a vote, so no message announces its release. */
  readonly foreign: boolean;
}

/** Combines the refusals of a poll. */
export function refusalOf({ replies, tally }: PollEnd): Refusal {
  const refused = replies.filter(([code]) => code === NO_VOTE);
  const votes = new Map<string, number>();
  for (const [, , token] of refused) votes.set(String(token), (votes.get(String(token)) ?? 0) + 1);
  return {
    held: Math.max(0, ...votes.values()) >= tally.needed,
    remainingMs: remainingMs(refused, tally.needed - tally.yes),
    foreign: votes.has(''),
  };
}

/** Milliseconds until `missing` of the refused votes have expired. */
function remainingMs(refused: readonly NodeReply[], missing: number): number {
  const ends = refused.map(([, leftMs]) => (leftMs < 0 ? Infinity : leftMs)).sort((a, b) => a - b);
  const end = ends[missing - 1] ?? Infinity;
  return Number.isFinite(end) ? end : -1;
}
