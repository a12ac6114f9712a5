import { SEMAPHORE_MUTANTS } from '../simulation/semaphore-mutants.js';
import { semaphoreCommandOf } from './semaphore-sequence.js';
import { runsOf } from '../support/runs.js';
import { Sides } from './use-sides.js';

const { numRuns: SEQUENCES } = runsOf('the semaphore table and the script', 5_000);

describe('The semaphore table and the script', () => {
  const sides = new Sides(semaphoreCommandOf);

  beforeAll(() => sides.open());

  it(`return the same replies and leave the same data in ${SEQUENCES} sequences of commands`, async () => {
    await sides.compareAll(SEQUENCES);
  }, 900_000);

  const mutants = Object.entries(SEMAPHORE_MUTANTS);

  it.each(mutants)('differ by %s', (_, makeSemaphores) => sides.expectDifference({ makeSemaphores }), 120_000);
});
