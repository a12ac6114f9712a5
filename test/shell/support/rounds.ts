/** Rounds of a race that run at the same time. More would only wait for the processors. */
const AT_ONCE = 4;
const ALL = 20;
const SAMPLE = 3;

/** The rounds of each race: 3, and 20 with `TEST_RUNS=all`. */
export const ROUNDS = process.env['TEST_RUNS'] === 'all' ? ALL : SAMPLE;

/** Runs all rounds; the first failure names its round. */
export async function rounds(round: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let number = next++; number < ROUNDS; number = next++) {
      try {
        await round(number);
      } catch (cause) {
        throw new Error(`Round ${number + 1} of ${ROUNDS}: ${(cause as Error).message}`, { cause });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
