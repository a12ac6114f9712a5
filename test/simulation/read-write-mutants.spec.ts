import { runHistories } from './histories.js';
import { plantedLocks, READ_WRITE_PLANTS } from './plants.js';
import { REJECTED } from './simulated-connection.js';
import { READ_WRITE_ENGINE_MUTANTS } from './read-write-mutants.js';

/** A mutant that survives this many histories shows a missing test. */
const MOST_HISTORIES = 5_000;
const DRAW = 7;

describe('The simulation notices, for readers and writers:', () => {
  it.each(Object.entries(READ_WRITE_PLANTS))('%s', async (name, changes) => {
    const Locks = await plantedLocks(changes);
    const { histories, broken } = await runHistories({ count: MOST_HISTORIES, draw: DRAW, Locks, reduce: false });

    process.stdout.write(`simulation: "${name}" noticed in history ${histories}: ${broken?.rule ?? 'NO'}\n`);
    expect(broken).toBeDefined();
    expect(broken!.rule).not.toContain(REJECTED);
  });

  it.each(Object.entries(READ_WRITE_ENGINE_MUTANTS))(
    '%s',
    async (name, mutate) => {
      const restore = mutate();
      const settings = { count: MOST_HISTORIES, draw: DRAW, reduce: false };
      const { histories, broken } = await runHistories(settings).finally(restore);

      process.stdout.write(`simulation: "${name}" noticed in history ${histories}: ${broken?.rule ?? 'NO'}\n`);
      expect(broken).toBeDefined();
    },
    60_000,
  );
});
