import type { Clock } from '../../runtime/clock.js';
import { Timer } from '../../runtime/timers.js';
import { NO_VOTE } from '../protocol/reply-codes.js';
import type { AcquireRequest, LockStoreError } from '../lock-store.js';
import { COMMAND_LIMIT_MS } from '../redis/link.js';
import type { Ballot } from './ballot.js';
import { limitOf } from './quorum-node.js';
import { noMajority, type PollEnd } from './poll.js';
import type { NodeReply } from './node-connection.js';

/** Result of an attempt. */
export type CandidateResult =
  | { readonly granted: true; readonly fencingToken: number; readonly waiting: number }
  /** `trouble`: nodes that failed may be the reason, because no holder is known. */
  | ({ readonly granted: false; readonly trouble: LockStoreError | undefined } & Refusal);

/** Each consecutive split vote doubles the pause before the next attempt, up to this number of doublings. */
const MOST_DOUBLINGS = 6;
const LEAST_PAUSE_MS = 4;
const MOST_PAUSE_MS = 250;

/** An owner that requests or holds the lock, from its first attempt to its release. */
export class Candidate extends Timer {
  /** The owner holds the lock or has held it. */
  granted = false;
  /** The owner has released the lock; no further vote is requested. */
  over = false;
  /** A command of this owner may have been sent. */
  sent = false;
  ballot: Ballot;
  private splits = 0;
  private tookMs = 0;

  constructor(
    /** Creates a ballot with a new token. */
    private readonly nextBallot: (before?: Ballot) => Ballot,
    private readonly clock: Clock,
    private readonly random: () => number,
    /** Called when its votes have expired. */
    readonly due: () => void,
  ) {
    super();
    this.ballot = nextBallot();
  }

  /** Records that the release of another owner queued this owner on every node. */
  queuedEverywhere(): void {
    this.sent = true;
    this.ballot.queuedEverywhere();
  }

  /** Requests every vote and writes the fencing tokens of a grant. Rejects when too many nodes fail. */
  async run(request: AcquireRequest): Promise<CandidateResult> {
    if (this.ballot.withdrawn) this.ballot = this.nextBallot(this.ballot);
    const { ballot } = this;
    let granted = false;
    try {
      const answer = await this.stand(ballot, request);
      granted = answer.granted;
      return answer;
    } finally {
      this.sent ||= ballot.sent;
      if (!granted) ballot.withdraw();
    }
  }

  private async stand(ballot: Ballot, request: AcquireRequest): Promise<CandidateResult> {
    const startedAt = this.clock.now();
    const end = await ballot.cast(request.ttlMs, request.block, request.wait);
    this.tookMs = this.clock.now() - startedAt;
    const grant = end.outcome === 'yes' ? await this.number(end, request) : undefined;
    if (grant !== undefined) return grant;
    if (end.outcome === 'failed') throw noMajority(end, ballot.sent);
    const refusal = refusalOf(end);
    this.splits = refusal.held ? 0 : this.splits + 1;
    const { nodes, needed, yes, no, failed, doubtful } = end.tally;
    // The poll may have ended before the answers that name the holder.
    const mayBeHeld = refusal.most + nodes - yes - no - failed - doubtful >= needed;
    const isUnclear = !mayBeHeld && end.outcome !== 'yes' && failed + doubtful > 0;
    return { granted: false, ...refusal, trouble: isUnclear ? noMajority(end) : undefined };
  }

  /** A random pause, so that competing owners do not split the votes again. */
  pauseMs(): number {
    const window = Math.max(LEAST_PAUSE_MS, 2 * this.tookMs) * 2 ** Math.min(this.splits, MOST_DOUBLINGS);
    return Math.ceil(this.random() * Math.min(MOST_PAUSE_MS, window));
  }

  private async number({ replies }: PollEnd, { ttlMs, block }: AcquireRequest): Promise<CandidateResult | undefined> {
    const given = replies.filter(([code]) => code !== NO_VOTE);
    const lowest = Math.max(...given.map(([, first]) => first));
    // Both round trips together share the limit of one command.
    const limitMs = Math.min(limitOf(ttlMs), COMMAND_LIMIT_MS - Math.ceil(this.tookMs));
    const fencingToken = this.over ? undefined : await this.ballot.number(lowest, block, limitMs);
    if (fencingToken === undefined || this.over) return undefined;
    this.granted = true;
    this.splits = 0;
    return { granted: true, fencingToken, waiting: Math.max(...given.map(([, , waiting]) => Number(waiting))) };
  }
}

/** Why an owner has no majority. */
export interface Refusal {
  /** Another owner has a majority and holds the lock. Otherwise the votes may be split, without a holder. */
  readonly held: boolean;
  /** The most votes of one other owner that are known. */
  readonly most: number;
  /** Milliseconds until enough votes expire for a majority; -1 when unknown. */
  readonly remainingMs: number;
  /** A foreign client holds a vote, so no message announces its release. */
  readonly foreign: boolean;
}

/** Combines the refusals of a poll. */
function refusalOf({ replies, tally }: PollEnd): Refusal {
  const refused = replies.filter(([code]) => code === NO_VOTE);
  const votes = new Map<string, number>();
  for (const [, , token] of refused) votes.set(String(token), (votes.get(String(token)) ?? 0) + 1);
  const most = Math.max(0, ...votes.values());
  return {
    held: most >= tally.needed,
    most,
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
