import type { SemaphoreTable } from '../../libs/distribute-lock/src/store/memory/semaphore-table.js';
import type { LockTable } from '../../libs/distribute-lock/src/store/memory/lock-table.js';
import { reportOf, runHistories } from './histories.js';
import { runHistory } from './history.js';
import { planOf } from './plan-of-seed.js';
import { RuleSemaphores, RuleTable } from './rule-tables.js';
import type { SimulatedTableHost, Tables } from './tables.js';

/** For a longer search: `SIM_RULES=100000 SIM_DRAW=7`. */
const HISTORIES = Number(process.env['SIM_RULES'] ?? 10_000);
const DRAW = Number(process.env['SIM_DRAW'] ?? 1);

/** A server with the rules of `store/protocol`, which have the methods of the tables. */
const RULES: Tables = {
  makeTable: (host) => new RuleTable(host as SimulatedTableHost) as unknown as LockTable,
  makeSemaphores: (_, locks) => new RuleSemaphores(locks as unknown as RuleTable) as unknown as SemaphoreTable,
};

describe('The rules that are compiled for Redis', () => {
  it(`keep every rule in ${HISTORIES} histories`, async () => {
    const { histories, seconds, holds, broken } = await runHistories({ count: HISTORIES, draw: DRAW, tables: RULES });

    process.stdout.write(`rules: ${histories} histories, ${holds} holds, ${seconds.toFixed(1)} s\n`);
    if (broken !== undefined) throw new Error(await reportOf(broken, RULES));
    expect(histories).toBe(HISTORIES);
  }, 600_000);

  // The scripts do the same. An acquire that arrives in this millisecond takes the key for that of a foreign client.
  it('let a caller wait too long behind a semaphore that is in its last millisecond, which is a known defect', async () => {
    const plan = planOf(955_644_333);

    expect((await runHistory(plan)).violation).toBeUndefined();
    expect((await runHistory(plan, RULES)).violation).toMatch(/^a lock with waiters has no holder \(a since 4025.8/);
  });
});
