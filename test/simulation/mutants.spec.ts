import { KEEPING_MUTANTS } from './keeping-mutants.js';
import { ENGINE_MUTANTS } from './mutants.js';
import { reportOf, runHistories, runHistory } from './histories.js';
import { planOf } from './plan-of-seed.js';
import { READ_WRITE_ENGINE_MUTANTS, READ_WRITE_MUTANTS } from './read-write-mutants.js';
import { SEMAPHORE_ENGINE_MUTANTS, SEMAPHORE_MUTANTS } from './semaphore-mutants.js';
import { TABLE_MUTANTS } from './table-mutants.js';
import type { Tables } from './tables.js';

/** A mutant that survives this many histories shows a missing test. */
const MOST_HISTORIES = 5_000;
const DRAW = 7;

const { 'an unresponsive process that keeps its places': _, ...TABLES } = TABLE_MUTANTS;
const MAKERS: readonly (readonly [name: string, tables: Partial<Tables>])[] = [
  ...Object.entries({ ...TABLES, ...READ_WRITE_MUTANTS }).map(([name, makeTable]) => [name, { makeTable }] as const),
  ...Object.entries(SEMAPHORE_MUTANTS).map(([name, makeSemaphores]) => [name, { makeSemaphores }] as const),
];
const ENGINES = { ...ENGINE_MUTANTS, ...SEMAPHORE_ENGINE_MUTANTS, ...KEEPING_MUTANTS, ...READ_WRITE_ENGINE_MUTANTS };

async function expectNoticed(name: string, tables?: Partial<Tables>): Promise<void> {
  const { histories, broken } = await runHistories({ count: MOST_HISTORIES, draw: DRAW, tables, reduce: false });
  process.stdout.write(`simulation: "${name}" noticed in history ${histories}: ${broken?.rule ?? 'NO'}\n`);
  expect(broken).toBeDefined();
}

describe('The simulation notices', () => {
  it.each(MAKERS)('%s', expectNoticed);

  it.each(Object.entries(ENGINES))('%s', (name, mutate) => {
    const restore = mutate();
    return expectNoticed(name).finally(restore);
  });

  it('a mutant, and reduces the history to the minimum that breaks the rule', async () => {
    const tables = { makeTable: TABLE_MUTANTS['a fencing token that is only the last one plus 1'] };
    const { broken } = await runHistories({ count: MOST_HISTORIES, draw: DRAW, tables });
    const whole = planOf(broken!.seed);

    expect(broken!.reduced.faults.length).toBeLessThanOrEqual(1);
    expect(broken!.reduced.callers.length).toBeLessThanOrEqual(2);
    expect(whole.callers.length).toBeGreaterThan(2);
    expect((await runHistory(broken!.reduced, tables)).violation).toBe(broken!.rule);
    expect(await reportOf(broken!, tables)).toContain(`SIM_SEED=${whole.seed}`);
  });
});
