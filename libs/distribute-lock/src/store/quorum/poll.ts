import { LockStoreError } from '../lock-store.js';
import { NO_VOTE } from '../protocol/reply-codes.js';
import type { NodeReply } from './node-connection.js';
import type { StepResult, NodeStep, QuorumNode } from './quorum-node.js';
import type { LockVotes } from '../../errors.js';

/** How an answer counts; an error is no vote. */
export type Vote = 'yes' | 'no' | Error;

/** Result of a poll, with the replies received until the decision. */
export interface PollEnd {
  readonly outcome: PollOutcome;
  readonly tally: Tally;
  readonly replies: readonly NodeReply[];
  readonly failures: readonly Error[];
}

/** Counts the answers of all nodes to one request until the result is decided. */
export class Poll {
  private readonly tally: Tally;
  private readonly replies: NodeReply[] = [];
  private readonly failures: Error[] = [];
  private readonly ended: Promise<PollEnd>;
  private end: (end: PollEnd) => void = () => undefined;
  private complete = false;

  constructor(nodes: number) {
    this.tally = new Tally(nodes);
    this.ended = new Promise((resolve) => (this.end = resolve));
  }

  /** @param send - sends the request and calls back with the answer; a late answer does not count */
  request(
    node: QuorumNode,
    send: (result: (result: StepResult) => void) => NodeStep,
    voteOf: (result: StepResult) => Vote,
  ): NodeStep {
    const { doubtful } = node;
    if (doubtful) this.tally.doubtful += 1;
    return send((result) => {
      const vote = voteOf(result);
      if (result.late) return;
      if (doubtful) this.tally.doubtful -= 1;
      if (!(result.reply instanceof Error)) this.replies.push(result.reply);
      this.count(vote);
    });
  }

  /** Counts a vote that needs no request. */
  count(vote: Vote): void {
    if (vote instanceof Error) {
      this.tally.failed += 1;
      this.failures.push(vote);
    } else this.tally[vote] += 1;
    this.look();
  }

  /** Ends the poll: every node has received its request. */
  close(): Promise<PollEnd> {
    this.complete = true;
    this.look();
    return this.ended;
  }

  private look(): void {
    const { tally, replies, failures } = this;
    if (!this.complete || tally.outcome === undefined) return;
    this.end({ outcome: tally.outcome, tally, replies: [...replies], failures: [...failures] });
  }
}

export const yesOrNo = ({ reply }: StepResult): Vote =>
  reply instanceof Error ? reply : reply[0] === NO_VOTE ? 'no' : 'yes';

/**
 * The error of a poll without a majority for or against the request, because too many nodes failed.
 * @param sent - whether a node may have received the command
 */
export function noMajority({ tally, failures }: PollEnd, sent = true): LockStoreError {
  const { nodes, needed, votes } = tally;
  const lasting = failures.filter((error) => error instanceof LockStoreError && !error.passing);
  const passing = lasting.length <= nodes - needed;
  const first = passing ? failures[0] : lasting[0];
  const why = first === undefined ? '' : ` First failure: ${first.message.replace(/\.$/, '')}.`;
  return new LockStoreError(
    `Quorum not reached: ${votes.granted} of ${nodes} nodes granted the request, ${votes.refused} refused, ${votes.failed} failed or did not respond (${needed} required).${why}`,
    passing,
    { votes, sent },
  );
}

/** `mixed`: enough nodes answered, but no majority is for or against the request. */
export type PollOutcome = 'yes' | 'no' | 'failed' | 'mixed';

export const majorityOf = (nodes: number): number => Math.floor(nodes / 2) + 1;

/**
 * Counts the answers of the nodes of a quorum. The result is decided as soon as no pending answer can change it. A
 * tally waits for doubtful nodes only if their answers are needed.
 */
export class Tally {
  yes = 0;
  no = 0;
  failed = 0;
  /** Nodes whose answer is pending and that are not connected or do not respond. */
  doubtful = 0;

  constructor(readonly nodes: number) {}

  get needed(): number {
    return majorityOf(this.nodes);
  }

  get outcome(): PollOutcome | undefined {
    const { nodes, needed, yes, no, failed, doubtful } = this;
    const spare = nodes - needed;
    if (yes >= needed) return 'yes';
    if (no > spare) return 'no';
    if (failed > spare) return 'failed';
    const expected = nodes - yes - no - failed - doubtful;
    return expected === 0 && failed + doubtful <= spare ? 'mixed' : undefined;
  }

  get votes(): LockVotes {
    const { nodes, needed, yes, no } = this;
    return { nodes, needed, granted: yes, refused: no, failed: nodes - yes - no };
  }
}
