import { OURS } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { median } from '../measuring/figures.mjs';
import { interleaved } from '../measuring/rounds.mjs';
import { burst } from './support/burst.mjs';
import { calls as uncontended } from './uncontended.mjs';

/** Module options of each subject. The first one is the reference. */
const SUBJECTS = new Map([
  ['single', { layout: 'single' }],
  ['single, serverMayChange', { layout: 'single', serverMayChange: true }],
  ['slot', { layout: 'slot' }],
]);
const LOADS = [1, 16, 128];
const WAITERS = 100;

export const calls = {
  ...uncontended,
  /** Callers of one process wait for one key in the order of all processes, so that the server hands the lock over. */
  async handOvers({ locks }, { times }) {
    const rates = [];
    for (let i = 0; i < times; i += 1) {
      const { handOffs, tookMs } = await burst(locks, { waiters: WAITERS, settleMs: 50, withinMs: 60_000 });
      rates.push((handOffs / tookMs) * 1_000);
    }
    return { rate: median(rates) };
  },
};

/** The layouts on one primary. Run with `--only layouts`; the full run does not include it. */
export async function* measure({ rounds, uncontendedMs, warmUpCycles }) {
  const names = [...SUBJECTS.keys()];
  const runs = await Arena.run(import.meta.url, async (arena) => {
    const open = async (fair) => {
      const clients = new Map();
      for (const [name, module] of SUBJECTS) clients.set(name, await arena.client(OURS, { fair, module }));
      return clients;
    };
    const [clients, strict] = [await open('process'), await open('strict')];
    for (const client of clients.values()) await client.call('warmUp', { cycles: warmUpCycles });
    for (const client of strict.values()) await client.call('handOvers', { times: 5 });
    return interleaved(2 * rounds, names, async (name) => {
      const run = { handOvers: (await strict.get(name).call('handOvers', { times: 5 })).rate };
      for (const loops of LOADS) run[loops] = await clients.get(name).call('cycles', { loops, forMs: uncontendedMs });
      return run;
    });
  });
  for (const loops of LOADS) {
    const figures = ['p50', 'rate', 'cpu'];
    const columns = ['', 'p50 us', 'of single', 'cycles/s', 'of single', 'client CPU us/cycle', 'of single'];
    yield result(`Layouts: uncontended cycle, ${loops} at a time`, columns, runs, (run) =>
      figures.map((figure) => run[loops][figure]),
    );
  }
  const columns = ['', 'hand-overs/s', 'of single'];
  yield result(`Layouts: one key, ${WAITERS} waiters, fair: 'strict'`, columns, runs, (run) => [run.handOvers]);
}

function result(title, columns, runs, figuresOf) {
  const [reference] = runs.values();
  const rows = Array.from(runs, ([name, own]) => {
    const figures = own.map(figuresOf);
    const base = reference.map(figuresOf);
    const cells = figures[0].flatMap((_, i) => [
      median(figures.map((row) => row[i])),
      median(figures.map((row, round) => row[i] / base[round][i])),
    ]);
    return [name, ...cells];
  });
  return { title, note: spreadOf(reference, figuresOf), tables: [{ columns, rows, better: [] }], goals: [] };
}

/** The rounds of the reference: their smallest and largest share of their median, for each figure. */
function spreadOf(reference, figuresOf) {
  const rows = reference.map(figuresOf);
  const spreads = rows[0].map((_, i) => {
    const shares = rows.map((row) => row[i] / median(rows.map((other) => other[i])));
    return `${Math.min(...shares).toFixed(2)} to ${Math.max(...shares).toFixed(2)}`;
  });
  return `Spread of the rounds of \`single\`: ${spreads.join('; ')}.`;
}
