import { reportOf, runHistories } from './histories.js';

/** The total of all parts. For a longer search: `SIM_HISTORIES=1000000 SIM_DRAW=7`. */
const HISTORIES = Number(process.env['SIM_HISTORIES'] ?? 100_000);
const DRAW = Number(process.env['SIM_DRAW'] ?? 1);
const PARTS = 4;

/** Runs the histories of one of several spec files, which run in parallel on several cores. */
export function describeHistories(part: number): void {
  const count = Math.ceil(HISTORIES / PARTS);

  it(`keeps every rule in ${count} histories`, async () => {
    const { histories, seconds, holds, broken } = await runHistories({ count, draw: DRAW * PARTS + part });

    process.stdout.write(`simulation ${part}: ${histories} histories, ${holds} holds, ${seconds.toFixed(1)} s\n`);
    if (broken !== undefined) throw new Error(await reportOf(broken));
    expect(histories).toBe(count);
  }, 600_000);
}
