import type { LockVotes } from '../../errors.js';

/** `mixed`: enough nodes answered, but no majority is for or against the request. */
export type Outcome = 'yes' | 'no' | 'failed' | 'mixed';

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
