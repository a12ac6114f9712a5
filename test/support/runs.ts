/** The seed of a sample, so that every run has the same cases. */
const SEED = 1;

/**
 * The runs of a long random test. By default it runs a tenth of them, always the same ones. With `TEST_RUNS=all`
 * (`npm run test:all`) the test runs all of them, with a new seed.
 */
export function runsOf(test: string, all: number): { readonly numRuns: number; readonly seed?: number } {
  const isAll = process.env.TEST_RUNS === 'all';
  const numRuns = isAll ? all : Math.ceil(all / 10);
  process.stdout.write(`${test}: ${numRuns} of ${all} runs${isAll ? '' : `, seed ${SEED}`}\n`);
  return isAll ? { numRuns } : { numRuns, seed: SEED };
}
