import { QUIET_READ_WRITE_MUTANTS, READ_WRITE_MUTANTS } from '../simulation/read-write-mutants.js';
import { readWriteCommandOf } from './read-write-sequence.js';
import { runsOf } from '../support/runs.js';
import { Sides } from './use-sides.js';

const { numRuns: SEQUENCES } = runsOf('the lock table and the scripts, readers and writers', 5_000);

describe('The lock table and the scripts, for readers and writers,', () => {
  const sides = new Sides(readWriteCommandOf);

  beforeAll(() => sides.open());

  it(`return the same replies and leave the same data in ${SEQUENCES} sequences of commands`, async () => {
    await sides.compareAll(SEQUENCES);
  }, 900_000);

  const mutants = { ...QUIET_READ_WRITE_MUTANTS, ...READ_WRITE_MUTANTS };

  it.each(Object.entries(mutants))('differ by %s', (_, makeTable) => sides.expectDifference({ makeTable }), 120_000);
});
