import { OURS } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { jain } from '../measuring/figures.mjs';
import { goal } from '../measuring/goals.mjs';
import { delay, hold, loops } from './support/looping.mjs';

const PROCESSES = 4;
const CALLERS = 5;
const ORDERS = [
  ['crossed:a', 'crossed:b'],
  ['crossed:b', 'crossed:a'],
];

export const calls = {
  async loops({ locks }, { keys, ...time }) {
    return loops(CALLERS, time, () => hold(locks, keys, { wait: '5s' }, () => delay(1)));
  },
};

/** Services that take the same two keys in opposite orders, without a deadlock. */
export async function* measure({ crossedMs }) {
  const parts = await Arena.run(import.meta.url, async (arena) => {
    const clients = await arena.clientsOf(OURS, PROCESSES);
    const startAt = Date.now() + 100;
    return Promise.all(
      // a wait of 5 s that ends without a lock rejects, and ends the measurement
      clients.map((client, i) => client.call('loops', { keys: ORDERS[i % 2], startAt, forMs: crossedMs })),
    );
  });
  yield result(parts, crossedMs);
}

function result(parts, forMs) {
  const counts = parts.map((callers) => callers.flat().length);
  const holds = parts.flat(2).toSorted(([, one], [, other]) => one - other);
  const overlaps = holds.slice(1).filter(([, from], i) => from < holds[i][2]).length;
  const waits = holds.map(([calledAt, from]) => (from - calledAt) / 1e6);
  const rows = counts.map((count, i) => [ORDERS[i % 2].join(', '), (count / forMs) * 1_000]);
  return {
    title: `Two keys in opposite orders, ${PROCESSES} processes with ${CALLERS} looping callers each, for ${forMs / 1_000} s`,
    note: `The longest wait took ${Math.round(Math.max(...waits))} ms.`,
    tables: [{ columns: ['a process that takes', 'holds/s'], rows, better: [0, 0] }],
    goals: [
      goal('holds of the slowest process', Math.min(...counts), { atLeast: 1 }),
      goal("Jain's index over processes", jain(counts), { atLeast: 0.9 }),
      goal('two held the keys at once', overlaps, { atMost: 0 }),
    ],
    faults: overlaps > 0 ? [`two holders had the same keys at once, ${overlaps} times`] : [],
  };
}
