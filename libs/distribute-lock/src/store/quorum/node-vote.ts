import type { NodeCall, QuorumNode } from './quorum-node.js';

/** What a node thinks of the token, as far as it is known: `unknown` when it was asked and has not answered. */
export type Standing = 'never asked' | 'mine' | 'theirs' | 'unknown';

/** The vote of one node. */
export class NodeVote {
  answered: Standing | undefined;
  call: NodeCall | undefined;
  /** The connection changed under a question. */
  resent = false;
  /** Asked so that its owner is queued there when somebody else has the vote. */
  waits = false;

  constructor(
    readonly node: QuorumNode,
    /** Its owner was queued there before. */
    public wasQueued = false,
  ) {}

  /** Whether its owner may stand in the queue there. */
  get queued(): boolean {
    return this.wasQueued || (this.waits && this.call?.sent === true);
  }

  get standing(): Standing {
    return this.answered ?? (this.call?.sent === true ? 'unknown' : 'never asked');
  }

  /** Whether a question is still on its way, or was when its connection broke: it may be applied after its undo. */
  get astray(): boolean {
    return this.resent || (this.answered === undefined && this.call?.sent === true);
  }

  /** Whether the node may have given its vote. */
  get possible(): boolean {
    return this.standing === 'mine' || this.standing === 'unknown';
  }
}
