import { LockStoreError } from '../lock-store.js';
import type { NodeReply } from './node-line.js';
import type { Heard, NodeCall, QuorumNode } from './quorum-node.js';
import { Tally, type Outcome } from './tally.js';

/** What an answer counts for; an error is no vote. */
export type Vote = 'yes' | 'no' | Error;

/** The end of a poll, and what was said until then. */
export interface PollEnd {
  readonly outcome: Outcome;
  readonly tally: Tally;
  readonly replies: readonly NodeReply[];
  readonly failures: readonly Error[];
}

/** Counts what the nodes of a quorum answer to one question, until that is decided. */
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

  /** @param ask - sends the question, and calls back when it is answered; what comes late does not count any more */
  ask(node: QuorumNode, ask: (heard: (heard: Heard) => void) => NodeCall, voteOf: (heard: Heard) => Vote): NodeCall {
    const { doubtful } = node;
    if (doubtful) this.tally.doubtful += 1;
    return ask((heard) => {
      const vote = voteOf(heard);
      if (heard.late) return;
      if (doubtful) this.tally.doubtful -= 1;
      if (!(heard.reply instanceof Error)) this.replies.push(heard.reply);
      this.count(vote);
    });
  }

  /** A vote that is known without asking. */
  count(vote: Vote): void {
    if (vote instanceof Error) {
      this.tally.failed += 1;
      this.failures.push(vote);
    } else this.tally[vote] += 1;
    this.look();
  }

  /** Every node has been asked. */
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

export const yesOrNo = ({ reply }: Heard): Vote => (reply instanceof Error ? reply : reply[0] === 0 ? 'no' : 'yes');

/**
 * Why there is no majority, neither for it nor against it: too many nodes failed.
 * @param sent - whether a node may have received the command
 */
export function noMajority({ tally, failures }: PollEnd, sent = true): LockStoreError {
  const { nodes, needed, votes } = tally;
  const lasting = failures.filter((error) => error instanceof LockStoreError && !error.passing);
  const passing = lasting.length <= nodes - needed;
  const first = passing ? failures[0] : lasting[0];
  const why = first === undefined ? '' : `; the first failure: ${first.message.replace(/\.$/, '')}`;
  return new LockStoreError(
    `${votes.granted} of ${nodes} nodes were for it, ${votes.refused} against it, ${votes.failed} failed; ${needed} are needed${why}.`,
    passing,
    { votes, sent },
  );
}
