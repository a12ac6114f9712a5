import { LockStoreError } from '../lock-store.js';
import { yesOrNo, type Vote } from './poll.js';
import type { Heard, NodeCall, QuorumNode } from './quorum-node.js';

const TWIN = 'two nodes of the quorum are the same Redis; every node must be a server of its own.';

/** What a node thinks of the token, as far as it is known: `unknown` when it was asked and has not answered. */
export type Standing = 'never asked' | 'mine' | 'theirs' | 'unknown';

/** The vote of one node. */
export class NodeVote {
  answered: Standing | undefined;
  call: NodeCall | undefined;
  /** The connection changed under a question, or one was never answered. */
  resent = false;
  /** Asked for when the lock was held already. It is prolonged like the others, but does not count for a renewal yet. */
  recent = false;
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

  /** What an answer to a question for the vote counts for. */
  voted(before: Standing, { reply, resent }: Heard): Vote {
    this.resent ||= resent && this.call?.sent === true;
    if (reply instanceof Error) return reply;
    const given = reply[0] !== 0;
    this.answered = given ? 'mine' : 'theirs';
    const isTwin = reply[0] === 2 && !resent && (before === 'never asked' || before === 'theirs');
    if (isTwin) return new LockStoreError(TWIN, false);
    return given ? 'yes' : 'no';
  }

  /** What an answer to a renewal counts for. */
  renewed(heard: Heard): Vote {
    const counted = yesOrNo(heard);
    if (counted === 'yes' && this.recent) return 'no';
    // Certain only where no question for the vote may be applied still, but for one that is astray.
    if (counted === 'no' && !heard.late && !heard.resent && this.call?.settled === true) {
      this.resent ||= this.astray;
      this.answered = 'theirs';
    }
    return counted;
  }
}
