import { KEEPING_MUTANTS } from './keeping-mutants.js';
import { CORE_MUTANTS } from './mutants.js';
import { runHistories, reportOf } from './histories.js';
import { runHistory } from './history.js';
import { planOf } from './plan-of-seed.js';
import { SEMAPHORE_CORE_MUTANTS, SEMAPHORE_MUTANTS } from './semaphore-mutants.js';
import { TABLE_MUTANTS } from './table-mutants.js';

/** A measure whose loss is not noticed by then is not tested. */
const MOST_HISTORIES = 5_000;
const DRAW = 7;

const noticed = (name: string, histories: number, rule: string): void =>
  void process.stdout.write(`simulation: "${name}" noticed in history ${histories}: ${rule}\n`);

describe('The simulation notices', () => {
  const elsewhere = 'a process that does not respond keeping its places';

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

  it.each(Object.entries({ ...CORE_MUTANTS, ...SEMAPHORE_CORE_MUTANTS, ...KEEPING_MUTANTS }))(
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

  it('and reduces what it noticed to what is needed for it', async () => {
    const tables = { makeTable: TABLE_MUTANTS['a fencing token that is only the last one and 1'] };
    const { broken } = await runHistories({ count: MOST_HISTORIES, draw: DRAW, tables });
    const whole = planOf(broken!.seed);

    expect(broken!.reduced.faults.length).toBeLessThanOrEqual(1);
    expect(broken!.reduced.callers.length).toBeLessThanOrEqual(2);
    expect(whole.callers.length).toBeGreaterThan(2);
    expect((await runHistory(broken!.reduced, tables)).violation).toBe(broken!.rule);
    expect(await reportOf(broken!, tables)).toContain(`SIM_SEED=${whole.seed}`);
  });
});
