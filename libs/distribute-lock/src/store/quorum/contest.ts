import type { NodeReply } from './node-line.js';
import type { PollEnd } from './poll.js';

/** Who stands in the way of a majority. */
export interface Refusal {
  /** One owner is known to have a majority: it holds the lock. Otherwise nobody may have it, because votes were split. */
  readonly held: boolean;
  /** Until so many votes end that a majority is free; -1 when that is not known. */
  readonly remainingMs: number;
  /** One of them is not ours, so nobody will be told of its release. */
  readonly foreign: boolean;
}

/** What the refusals of a poll say together. */
export function refusalOf({ replies, tally }: PollEnd): Refusal {
  const refused = replies.filter(([code]) => code === 0);
  const votes = new Map<string, number>();
  for (const [, , token] of refused) votes.set(String(token), (votes.get(String(token)) ?? 0) + 1);
  return {
    held: Math.max(0, ...votes.values()) >= tally.needed,
    remainingMs: remainingMs(refused, tally.needed - tally.yes),
    foreign: votes.has(''),
  };
}

/** When the `missing`th of them ends. */
function remainingMs(refused: readonly NodeReply[], missing: number): number {
  const ends = refused.map(([, leftMs]) => (leftMs < 0 ? Infinity : leftMs)).sort((a, b) => a - b);
  const end = ends[missing - 1] ?? Infinity;
  return Number.isFinite(end) ? end : -1;
}
