import { COMMAND_LIMIT_MS } from '../redis/link.js';
import { limitOf } from './limits.js';
import { NodeVote, type Standing } from './node-vote.js';
import { noMajority, Poll, yesOrNo, type PollEnd, type Vote } from './poll.js';
import type { Heard, NodeCall, QuorumNode } from './quorum-node.js';

const FENCE_TRIES = 4;
/** In place of an owner token. */
export const NOBODY = '-';

interface Owner {
  /** It wants no more: it must not stand in a queue either. */
  left: boolean;
}

type Words = readonly (string | number)[];

/**
 * The votes of all nodes for one token. Once it is withdrawn its token is dead for good, because a release that arrives late
 * would take a vote away that was counted: whoever asks again asks with another token.
 */
export class Ballot {
  withdrawn = false;
  /** The longest time that its votes were asked for. */
  ttlMs = 0;
  /** What is common to all ballots of an owner. */
  private readonly owner: Owner;
  /** The last fencing token of the grant. */
  private lastFence = 0;
  /** The lock is held: the last renewal that was sent has found its majority. */
  private sure = false;
  private readonly votes: readonly NodeVote[];

  constructor(
    nodes: readonly QuorumNode[],
    private readonly key: string,
    private readonly ownerToken: string,
    private readonly token: string,
    /** The one of the same owner before. */
    before?: Ballot,
  ) {
    this.votes = nodes.map((node, i) => new NodeVote(node, before?.votes[i].queued));
    this.owner = before?.owner ?? { left: false };
  }

  /** Nothing is known of the token here: every node may have voted for it. */
  adopt(): this {
    for (const vote of this.votes) vote.answered = 'unknown';
    return this;
  }

  /** Another owner's release has queued this one on every node. */
  queuedEverywhere(): void {
    for (const vote of this.votes) vote.wasQueued = true;
  }

  /** Whether a node may have received a question for its vote. */
  get sent(): boolean {
    return this.votes.some(({ call }) => call?.sent === true);
  }

  /** Asks every node for its vote. */
  cast(ttlMs: number, block: number, wait: boolean): Promise<PollEnd> {
    this.ttlMs = Math.max(this.ttlMs, ttlMs);
    const limitMs = limitOf(ttlMs);
    const words = [wait ? 'w' : 'a', this.token, this.ownerToken, ttlMs, block];
    const poll = new Poll(this.votes.length);
    for (const vote of this.votes) {
      const { node, standing } = vote;
      // A mute node has the last question still; another one would only be one more to take back.
      if (node.muteFor(limitMs)) poll.count(node.noAnswer(limitMs, false));
      else {
        vote.wasQueued ||= vote.queued;
        vote.waits = wait;
        vote.answered = standing === 'mine' ? 'mine' : undefined;
        vote.call = this.ask(poll, node, words, limitMs, (heard) => this.voted(vote, standing, heard));
      }
    }
    return poll.close();
  }

  /**
   * Writes `block` fencing tokens, from `first` or from behind the last ones that a node knows, to a majority. Answers the first
   * of them; undefined when the majority is gone.
   * @throws LockStoreError when it does not answer in time
   */
  async number(first: number, block: number, limitMs: number): Promise<number | undefined> {
    let lowest = first;
    for (let tries = 0; tries < FENCE_TRIES; tries += 1) {
      const last = lowest + block - 1;
      const end = await this.askVoters(['f', this.token, this.ownerToken, lowest, last], limitMs, ({ reply }) =>
        reply instanceof Error ? reply : reply[0] === 1 ? 'yes' : 'no',
      );
      if (end.outcome === 'yes') {
        this.lastFence = last;
        return lowest;
      }
      const behind = Math.max(...end.replies.filter(([code]) => code === 2).map(([, known]) => known + 1));
      if (behind > lowest) lowest = behind;
      else if (end.outcome === 'no') return undefined;
      else throw noMajority(end);
    }
    return undefined;
  }

  /**
   * Prolongs the votes; then asks for those that are missing. They count as soon as a renewal that was sent behind their answers has
   * found a majority of the others: so each one proves that no other owner can have had a majority since the one before.
   */
  async renew(ttlMs: number, exact = false): Promise<PollEnd> {
    this.ttlMs = Math.max(this.ttlMs, ttlMs);
    this.sure = false;
    const known = this.votes.filter(({ standing }) => standing === 'mine');
    const words = [exact ? 'l' : 'n', this.token, this.ownerToken, ttlMs, this.lastFence];
    const end = await this.askVoters(words, limitOf(ttlMs), (heard, vote) => {
      const counted = vote.renewed(heard);
      if (this.sure) this.askAgain(vote, ttlMs);
      return counted;
    });
    if (end.outcome !== 'yes' || this.lastFence === 0) return end;
    this.sure = true;
    for (const vote of known) vote.recent = false;
    for (const vote of this.votes) this.askAgain(vote, ttlMs);
    return end;
  }

  /**
   * Gives every vote back, those that are still to come too. Its owner leaves the queues.
   * @param tell - tell the next one who waits
   * @param next - owner token to queue for a message, or {@link NOBODY}
   */
  async release(tell: boolean, next: string): Promise<PollEnd & { readonly resent: boolean }> {
    this.withdrawn = this.owner.left = true;
    let resent = false;
    const words = ['d', this.token, this.ownerToken, tell ? '1' : '0', next];
    const poll = new Poll(this.votes.length);
    for (const vote of this.votes) {
      const { node, possible } = vote;
      vote.call?.cancel();
      if (!possible && node.doubtful) {
        if (vote.queued || vote.astray) this.abandon(vote);
        poll.count('no');
        continue;
      }
      this.ask(poll, node, words, COMMAND_LIMIT_MS, (heard) => {
        const unanswered = heard.reply instanceof Error;
        if (!heard.late && (vote.astray || (unanswered && (possible || vote.queued)))) this.abandon(vote, !unanswered);
        if (!possible) return 'no';
        resent ||= heard.resent;
        return yesOrNo(heard);
      });
    }
    const end = await poll.close();
    return { ...end, resent };
  }

  /** There will be no grant: votes are taken back behind the scenes. Its owner keeps its places in the queues. */
  withdraw(): void {
    for (const vote of this.votes) {
      vote.call?.cancel();
      if (!vote.possible && !vote.astray) continue;
      this.withdrawn = true;
      this.abandon(vote);
    }
  }

  private voted(vote: NodeVote, before: Standing, heard: Heard): Vote {
    const counted = vote.voted(before, heard);
    const answered = !(heard.reply instanceof Error);
    if (answered && (this.owner.left || (this.withdrawn && vote.answered === 'mine'))) this.abandon(vote);
    return counted;
  }

  private askVoters(words: Words, limitMs: number, voteOf: (heard: Heard, vote: NodeVote) => Vote): Promise<PollEnd> {
    const poll = new Poll(this.votes.length);
    for (const vote of this.votes) {
      if (vote.possible) this.ask(poll, vote.node, words, limitMs, (heard) => voteOf(heard, vote));
      else poll.count('no');
    }
    return poll.close();
  }

  private ask(poll: Poll, node: QuorumNode, words: Words, limitMs: number, voteOf: (heard: Heard) => Vote): NodeCall {
    return poll.ask(node, (heard) => node.ask(this.key, words, limitMs, heard), voteOf);
  }

  /** A node that was away, has forgotten its vote, or had given it to somebody else; a mute one comes later. */
  private askAgain(vote: NodeVote, ttlMs: number): void {
    const { node, standing } = vote;
    if (vote.possible || node.doubtful || this.withdrawn) return;
    vote.call?.cancel();
    vote.recent = true;
    vote.answered = undefined;
    const words = ['a', this.token, this.ownerToken, ttlMs, 1];
    vote.call = node.ask(this.key, words, limitOf(ttlMs), (heard) => void this.voted(vote, standing, heard));
  }

  private abandon({ node, astray }: NodeVote, released = false): void {
    const words = (): string[] => ['d', this.token, this.owner.left ? this.ownerToken : NOBODY, '0', NOBODY];
    node.abandon({ key: this.key, ownerToken: this.token, words }, this.ttlMs, astray, released);
  }
}
