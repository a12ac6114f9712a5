import type { LockVotes } from '../../errors.js';

/** `mixed`: enough nodes answered, but there is a majority neither for it nor against it. */
export type Outcome = 'yes' | 'no' | 'failed' | 'mixed';

export const majorityOf = (nodes: number): number => Math.floor(nodes / 2) + 1;

/**
 * Counts what the nodes of a quorum say. It is decided as soon as no answer that is still to come can change it, and without
 * waiting for nodes that are known to be in trouble, unless their answers are needed.
 */
export class Tally {
  yes = 0;
  no = 0;
  failed = 0;
  /** Not answered yet, and not expected to. */
  doubtful = 0;

  constructor(readonly nodes: number) {}

  get needed(): number {
    return majorityOf(this.nodes);
  }

  get outcome(): Outcome | undefined {
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
