import { reportOf, runHistories } from './histories.js';

/** In all parts together; more, and others, for a search: `SIM_HISTORIES=1000000 SIM_DRAW=7`. */
const HISTORIES = Number(process.env['SIM_HISTORIES'] ?? 100_000);
const DRAW = Number(process.env['SIM_DRAW'] ?? 1);
const PARTS = 4;

/** One of several spec files, which run side by side where there are cores. */
export function describeHistories(part: number): void {
  const count = Math.ceil(HISTORIES / PARTS);

  it(`keeps every rule in ${count} histories`, async () => {
    const { histories, seconds, holds, broken } = await runHistories({ count, draw: DRAW * PARTS + part });

    process.stdout.write(`simulation ${part}: ${histories} histories, ${holds} holds, ${seconds.toFixed(1)} s\n`);
    if (broken !== undefined) throw new Error(await reportOf(broken));
    expect(histories).toBe(count);
  }, 600_000);
}
