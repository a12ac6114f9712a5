import { FENCE_TOO_LOW, FENCE_WRITTEN } from '../protocol/reply-codes.js';
import { COMMAND_LIMIT_MS } from '../redis/link.js';
import { noAnswer } from '../redis/redis-errors.js';
import type { StepWords } from './node-connection.js';
import { limitOf, type StepResult, type NodeStep, type QuorumNode } from './quorum-node.js';
import { NodeVote, type VoteState } from './node-vote.js';
import { noMajority, Poll, yesOrNo, type PollEnd, type Vote } from './poll.js';

const FENCE_TRIES = 4;
/** Placeholder for an absent owner token. */
export const NO_OWNER = '-';

interface Owner {
  /** The owner has released the lock or stopped waiting, so it must leave every queue. */
  left: boolean;
}

/**
 * The votes of all nodes for one token. A withdrawn token is never used again, because a late release would remove a
 * counted vote. The next attempt of the owner uses another token.
 */
export class Ballot {
  withdrawn = false;
  /** Longest ttl of its votes. */
  ttlMs = 0;
  /** State shared by all ballots of an owner. */
  private readonly owner: Owner;
  private lastFence = 0;
  /** The last renewal reached a majority, so the lock is held. */
  private sure = false;
  private readonly votes: readonly NodeVote[];

  constructor(
    nodes: readonly QuorumNode[],
    private readonly key: string,
    private readonly ownerToken: string,
    private readonly token: string,
    /** The previous ballot of the same owner. */
    before?: Ballot,
  ) {
    this.votes = nodes.map((node, i) => new NodeVote(node, before?.votes[i].queued));
    this.owner = before?.owner ?? { left: false };
  }

  /** Treats every node as a possible voter, because this process has no state of the token. */
  adopt(): this {
    for (const vote of this.votes) vote.answered = 'unknown';
    return this;
  }

  /** Records that the release of another owner queued this owner on every node. */
  queuedEverywhere(): void {
    for (const vote of this.votes) vote.wasQueued = true;
  }

  /** Whether a node may have received a request for its vote. */
  get sent(): boolean {
    return this.votes.some(({ step }) => step?.sent === true);
  }

  /** Requests a vote from every node. */
  cast(ttlMs: number, block: number, wait: boolean): Promise<PollEnd> {
    this.ttlMs = Math.max(this.ttlMs, ttlMs);
    const limitMs = limitOf(ttlMs);
    const words = [wait ? 'w' : 'a', this.token, this.ownerToken, ttlMs, block];
    const poll = new Poll(this.votes.length);
    for (const vote of this.votes) {
      const { node, state } = vote;
      // A node that does not respond still has the previous request. Another request would also need an undo.
      if (node.unresponsiveFor(limitMs)) poll.count(noAnswer(limitMs, node.connection.trouble, false));
      else {
        vote.wasQueued ||= vote.queued;
        vote.waits = wait;
        vote.answered = state === 'mine' ? 'mine' : undefined;
        vote.step = this.send(poll, node, words, limitMs, (result) => this.voted(vote, state, result));
      }
    }
    return poll.close();
  }

  /**
   * Writes `block` fencing tokens to a majority, starting at `first` or after the last token that a node knows.
   * Resolves to the first of them, or to undefined if the majority is lost.
   * @throws LockStoreError if no majority responds in time
   */
  async number(first: number, block: number, limitMs: number): Promise<number | undefined> {
    let lowest = first;
    for (let tries = 0; tries < FENCE_TRIES; tries += 1) {
      const last = lowest + block - 1;
      const end = await this.requestVoters(['f', this.token, this.ownerToken, lowest, last], limitMs, ({ reply }) =>
        reply instanceof Error ? reply : reply[0] === FENCE_WRITTEN ? 'yes' : 'no',
      );
      if (end.outcome === 'yes') {
        this.lastFence = last;
        return lowest;
      }
      const behind = Math.max(...end.replies.filter(([code]) => code === FENCE_TOO_LOW).map(([, known]) => known + 1));
      if (behind > lowest) lowest = behind;
      else if (end.outcome === 'no') return undefined;
      else throw noMajority(end);
    }
    return undefined;
  }

  /**
   * Extends the votes, then requests the missing ones. A new vote counts after a later renewal reaches a majority
   * without it. Each counted vote thus proves that no other owner has had a majority since the previous renewal.
   */
  async renew(ttlMs: number, exact = false): Promise<PollEnd> {
    this.ttlMs = Math.max(this.ttlMs, ttlMs);
    this.sure = false;
    const known = this.votes.filter(({ state }) => state === 'mine');
    const words = [exact ? 'l' : 'n', this.token, this.ownerToken, ttlMs, this.lastFence];
    const end = await this.requestVoters(words, limitOf(ttlMs), (result, vote) => {
      const counted = vote.renewed(result);
      if (this.sure) this.requestMissing(vote, ttlMs);
      return counted;
    });
    if (end.outcome !== 'yes' || this.lastFence === 0) return end;
    this.sure = true;
    for (const vote of known) vote.recent = false;
    for (const vote of this.votes) this.requestMissing(vote, ttlMs);
    return end;
  }

  /**
   * Releases every vote, including votes that arrive later, and removes the owner from the queues.
   * @param notify - whether each node notifies its next waiter
   * @param next - owner token to queue for a message, or {@link NO_OWNER}
   */
  async release(notify: boolean, next: string): Promise<PollEnd & { readonly resent: boolean }> {
    this.withdrawn = this.owner.left = true;
    let resent = false;
    const words = ['d', this.token, this.ownerToken, notify ? '1' : '0', next];
    const poll = new Poll(this.votes.length);
    for (const vote of this.votes) {
      const { node, possible } = vote;
      vote.step?.cancel();
      if (!possible && node.doubtful) {
        if (vote.queued || vote.uncertain) this.abandon(vote);
        poll.count('no');
        continue;
      }
      this.send(poll, node, words, COMMAND_LIMIT_MS, (result) => {
        const unanswered = result.reply instanceof Error;
        if (!result.late && (vote.uncertain || (unanswered && (possible || vote.queued))))
          this.abandon(vote, !unanswered);
        if (!possible) return 'no';
        resent ||= result.resent;
        return yesOrNo(result);
      });
    }
    const end = await poll.close();
    return { ...end, resent };
  }

  /**
   * Ends the ballot without a grant: possible votes are undone in the background. The owner keeps its places in the
   * queues.
   */
  withdraw(): void {
    for (const vote of this.votes) {
      vote.step?.cancel();
      if (!vote.possible && !vote.uncertain) continue;
      this.withdrawn = true;
      this.abandon(vote);
    }
  }

  private voted(vote: NodeVote, before: VoteState, result: StepResult): Vote {
    const counted = vote.voted(before, result);
    const answered = !(result.reply instanceof Error);
    if (answered && (this.owner.left || (this.withdrawn && vote.answered === 'mine'))) this.abandon(vote);
    return counted;
  }

  private requestVoters(
    words: StepWords,
    limitMs: number,
    voteOf: (result: StepResult, vote: NodeVote) => Vote,
  ): Promise<PollEnd> {
    const poll = new Poll(this.votes.length);
    for (const vote of this.votes) {
      if (vote.possible) this.send(poll, vote.node, words, limitMs, (result) => voteOf(result, vote));
      else poll.count('no');
    }
    return poll.close();
  }

  private send(
    poll: Poll,
    node: QuorumNode,
    words: StepWords,
    limitMs: number,
    voteOf: (result: StepResult) => Vote,
  ): NodeStep {
    return poll.request(node, (result) => node.run(this.key, words, limitMs, result), voteOf);
  }

  /**
   * Requests the vote of a node that was unavailable, lost its vote, or gave it to another owner. Skips nodes that do
   * not respond; a later renewal repeats the request.
   */
  private requestMissing(vote: NodeVote, ttlMs: number): void {
    const { node, state } = vote;
    if (vote.possible || node.doubtful || this.withdrawn) return;
    vote.step?.cancel();
    vote.recent = true;
    vote.answered = undefined;
    const words = ['a', this.token, this.ownerToken, ttlMs, 1];
    vote.step = node.run(this.key, words, limitOf(ttlMs), (result) => void this.voted(vote, state, result));
  }

  private abandon({ node, uncertain }: NodeVote, released = false): void {
    const words = (): string[] => ['d', this.token, this.owner.left ? this.ownerToken : NO_OWNER, '0', NO_OWNER];
    node.abandon({ key: this.key, ownerToken: this.token, words }, this.ttlMs, uncertain, released);
  }
}

/** Separates an owner token from the number of its ballot; neither contains it. */
const SEPARATOR = 'R';

/** Creates a unique token for each ballot of this process. */
export class BallotTokens {
  private sequence = 0;

  next(ownerToken: string): string {
    this.sequence += 1;
    return `${ownerToken}${SEPARATOR}${this.sequence.toString(36)}`;
  }
}

/** The owner token of a ballot token; an owner token is returned unchanged. */
export const ownerOf = (token: string): string => token.replace(/R[0-9a-z]+$/, '');
