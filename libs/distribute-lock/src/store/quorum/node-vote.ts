import { LARGER_FENCE, NO_VOTE, VOTED_BEFORE } from '../protocol/reply-codes.js';
import { LockStoreError } from '../lock-store.js';
import { yesOrNo, type Vote } from './poll.js';
import type { StepResult, NodeStep, QuorumNode } from './quorum-node.js';

const TWIN = 'Two nodes of the quorum are the same Redis server. Configure a separate server for every node.';

/** Known vote of a node for the token. `unknown`: the request has no answer yet. */
export type VoteState = 'not requested' | 'mine' | 'theirs' | 'unknown';

/** The vote of one node. */
export class NodeVote {
  answered: VoteState | undefined;
  step: NodeStep | undefined;
  /** The connection was lost during a request, or a request was never answered. */
  resent = false;
  /** The vote was requested after the grant. It is extended like the others but does not count for a renewal yet. */
  recent = false;
  /** The request queues the owner on this node when another owner has the vote. */
  waits = false;

  constructor(
    readonly node: QuorumNode,
    /** The owner was queued on this node before. */
    public wasQueued = false,
  ) {}

  /** Whether the owner may be in the queue of this node. */
  get queued(): boolean {
    return this.wasQueued || (this.waits && this.step?.sent === true);
  }

  get state(): VoteState {
    return this.answered ?? (this.step?.sent === true ? 'unknown' : 'not requested');
  }

  /** Whether a request is unanswered, or was when its connection was lost: the node may execute it after its undo. */
  get uncertain(): boolean {
    return this.resent || (this.answered === undefined && this.step?.sent === true);
  }

  /** Whether the node may have given its vote. */
  get possible(): boolean {
    return this.state === 'mine' || this.state === 'unknown';
  }

  /** How a reply to a request for the vote counts. */
  voted(before: VoteState, { reply, resent }: StepResult): Vote {
    this.resent ||= resent && this.step?.sent === true;
    if (reply instanceof Error) return reply;
    const given = reply[0] !== NO_VOTE;
    this.answered = given ? 'mine' : 'theirs';
    const isTwin = reply[0] === VOTED_BEFORE && !resent && (before === 'not requested' || before === 'theirs');
    if (isTwin) return new LockStoreError(TWIN, false);
    return given ? 'yes' : 'no';
  }

  /** How a reply to a renewal counts. */
  renewed(result: StepResult): Vote {
    const counted = yesOrNo(result);
    if (counted === 'yes' && (this.recent || isOutnumbered(result))) return 'no';
    // The vote is surely lost only if no request for it is pending, except one from a lost connection.
    if (counted === 'no' && !result.late && !result.resent && this.step?.settled === true) {
      this.resent ||= this.uncertain;
      this.answered = 'theirs';
    }
    return counted;
  }
}

/**
 * The node knows a larger fencing token. A vote that comes late, after a grant to another owner with lost votes, would otherwise hide
 * that owner.
 */
const isOutnumbered = ({ reply }: StepResult): boolean => !(reply instanceof Error) && reply[2] === LARGER_FENCE;
