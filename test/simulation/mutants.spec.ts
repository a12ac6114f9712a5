import { CORE_MUTANTS } from './mutants.js';
import { runHistories } from './histories.js';
import { TABLE_MUTANTS } from './table-mutants.js';

/** A measure whose loss is not noticed by then is not tested. */
const MOST_HISTORIES = 5_000;
const DRAW = 7;

const noticed = (name: string, histories: number, rule: string): void =>
  void process.stdout.write(`simulation: "${name}" noticed in history ${histories}: ${rule}\n`);

describe('The simulation notices', () => {
  it.each(Object.entries(TABLE_MUTANTS))('%s', async (name, makeTable) => {
    const { histories, broken } = await runHistories({ count: MOST_HISTORIES, draw: DRAW, makeTable, reduce: false });

    noticed(name, histories, broken?.rule ?? 'NO');
    expect(broken).toBeDefined();
  });

  it.each(Object.entries(CORE_MUTANTS))('%s', async (name, mutate) => {
    const restore = mutate();
    const { histories, broken } = await runHistories({ count: MOST_HISTORIES, draw: DRAW, reduce: false }).finally(
      restore,
    );

    noticed(name, histories, broken?.rule ?? 'NO');
    expect(broken).toBeDefined();
  });
});
