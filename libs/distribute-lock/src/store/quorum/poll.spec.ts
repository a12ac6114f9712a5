import { majorityOf, Tally, type PollOutcome } from './poll.js';

type Answer = 'yes' | 'no' | 'failed';
const ANSWERS: readonly Answer[] = ['yes', 'no', 'failed'];

/** All combinations of answers of this number of nodes. */
function* answersOf(nodes: number): Generator<readonly Answer[]> {
  for (let way = 0; way < 3 ** nodes; way += 1) {
    yield Array.from({ length: nodes }, (_, i) => ANSWERS[Math.floor(way / 3 ** i) % 3]);
  }
}

describe.each([3, 4, 5, 7])('Tally of %i nodes', (nodes) => {
  const spare = nodes - majorityOf(nodes);

  it('needs more than half', () => {
    expect(2 * majorityOf(nodes)).toBeGreaterThan(nodes);
    expect(2 * (majorityOf(nodes) - 1)).toBeLessThanOrEqual(nodes);
  });

  it('is decided by the last answer at the latest, and agrees with the result of all answers', () => {
    for (const answers of answersOf(nodes)) {
      const tally = new Tally(nodes);
      const count = (answer: Answer): number => answers.filter((each) => each === answer).length;
      const [yes, no, failed] = ANSWERS.map(count);
      let decided: PollOutcome | undefined;
      for (const answer of answers) {
        tally[answer] += 1;
        decided ??= tally.outcome; // the first decision counts
      }
      const expected =
        yes > spare && yes >= majorityOf(nodes) ? 'yes' : no > spare ? 'no' : failed > spare ? 'failed' : 'mixed';
      // An even number of nodes can split into halves: the first half that is complete decides.
      const either = no > spare && failed > spare ? ['no', 'failed'] : [expected];
      if (!either.includes(decided!)) throw new Error(`${decided}, not ${expected}, for ${answers.join()}`);
    }
  });

  it('waits for doubtful nodes only if their votes are needed', () => {
    for (let doubtful = 1; doubtful <= nodes; doubtful += 1) {
      const tally = new Tally(nodes);
      tally.doubtful = doubtful;
      tally.yes = Math.min(nodes - doubtful, majorityOf(nodes) - 1);
      tally.no = nodes - doubtful - tally.yes;
      if (tally.no > spare) continue;
      expect(tally.outcome).toBe(doubtful <= spare ? 'mixed' : undefined);
    }
  });
});
