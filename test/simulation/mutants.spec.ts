import { KEEPING_MUTANTS } from './keeping-mutants.js';
import { ENGINE_MUTANTS } from './mutants.js';
import { runHistories, reportOf } from './histories.js';
import { runHistory } from './history.js';
import { planOf } from './plan-of-seed.js';
import { REJECTED } from './simulated-connection.js';
import { EXCLUSIVE_PLANTS, plantedLocks, SEMAPHORE_PLANTS } from './plants.js';
import { SEMAPHORE_ENGINE_MUTANTS } from './semaphore-mutants.js';

/** A mutant that survives this many histories shows a missing test. */
const MOST_HISTORIES = 5_000;
const DRAW = 7;

const noticed = (name: string, histories: number, rule: string): void =>
  void process.stdout.write(`simulation: "${name}" noticed in history ${histories}: ${rule}\n`);

describe('The simulation notices', () => {
  it.each(Object.entries({ ...EXCLUSIVE_PLANTS, ...SEMAPHORE_PLANTS }))('%s', async (name, changes) => {
    const Locks = await plantedLocks(changes);
    const { histories, broken } = await runHistories({ count: MOST_HISTORIES, draw: DRAW, Locks, reduce: false });

    noticed(name, histories, broken?.rule ?? 'NO');
    expect(broken).toBeDefined();
    expect(broken!.rule).not.toContain(REJECTED);
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
    const Locks = await plantedLocks(EXCLUSIVE_PLANTS['a fencing token that is only the last one plus 1']);
    const { broken } = await runHistories({ count: MOST_HISTORIES, draw: DRAW, Locks });
    const whole = planOf(broken!.seed);

    expect(broken!.reduced.faults.length).toBeLessThanOrEqual(1);
    expect(broken!.reduced.callers.length).toBeLessThanOrEqual(2);
    expect(whole.callers.length).toBeGreaterThan(2);
    expect((await runHistory(broken!.reduced, { Locks })).violation).toBe(broken!.rule);
    expect(await reportOf(broken!, Locks)).toContain(`SIM_SEED=${whole.seed}`);
  });
});
