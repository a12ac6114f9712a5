import { KEEPING_MUTANTS } from './keeping-mutants.js';
import { ENGINE_MUTANTS } from './mutants.js';
import { runHistories, reportOf } from './histories.js';
import { runHistory } from './history.js';
import { planOf } from './plan-of-seed.js';
import { SEMAPHORE_ENGINE_MUTANTS, SEMAPHORE_MUTANTS } from './semaphore-mutants.js';
import { TABLE_MUTANTS } from './table-mutants.js';

/** A mutant that survives this many histories shows a missing test. */
const MOST_HISTORIES = 5_000;
const DRAW = 7;

const noticed = (name: string, histories: number, rule: string): void =>
  void process.stdout.write(`simulation: "${name}" noticed in history ${histories}: ${rule}\n`);

describe('The simulation notices', () => {
  const elsewhere = 'an unresponsive process that keeps its places';

  it.each(Object.entries(TABLE_MUTANTS).filter(([name]) => name !== elsewhere))('%s', async (name, makeTable) => {
    const { histories, broken } = await runHistories({
      count: MOST_HISTORIES,
      draw: DRAW,
      tables: { makeTable },
      reduce: false,
    });

    noticed(name, histories, broken?.rule ?? 'NO');
    expect(broken).toBeDefined();
  });

  it.each(Object.entries(SEMAPHORE_MUTANTS))('%s', async (name, makeSemaphores) => {
    const tables = { makeSemaphores };
    const { histories, broken } = await runHistories({ count: MOST_HISTORIES, draw: DRAW, tables, reduce: false });

    noticed(name, histories, broken?.rule ?? 'NO');
    expect(broken).toBeDefined();
  });

  it.each(Object.entries({ ...ENGINE_MUTANTS, ...SEMAPHORE_ENGINE_MUTANTS, ...KEEPING_MUTANTS }))(
    '%s',
    async (name, mutate) => {
      const restore = mutate();
      const { histories, broken } = await runHistories({ count: MOST_HISTORIES, draw: DRAW, reduce: false }).finally(
        restore,
      );

      noticed(name, histories, broken?.rule ?? 'NO');
      expect(broken).toBeDefined();
    },
  );

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
