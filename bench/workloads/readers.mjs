import { OURS } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { median, percentile } from '../measuring/figures.mjs';
import { goal } from '../measuring/goals.mjs';
import { interleaved } from '../measuring/rounds.mjs';
import { delay, hold, loops } from './support/looping.mjs';

const PROCESSES = 4;
const READERS = 25;
const READ_MS = 20;
const WRITE_MS = 1;
const WRITE_EVERY_MS = 100;
const KEY = 'readers';

const READ_WRITE = `${OURS}, read and write locks`;
const EXCLUSIVE = `${OURS}, one exclusive lock`;
const KINDS = {
  [READ_WRITE]: { reader: { kind: 'read' }, writer: { kind: 'write' } },
  [EXCLUSIVE]: { reader: {}, writer: {} },
};

export const calls = {
  async read({ locks }, { kind, ...time }) {
    return loops(READERS, time, () => hold(locks, KEY, kind, () => delay(READ_MS)));
  },
  async write({ locks }, { kind, ...time }) {
    return loops(1, time, async () => {
      const next = delay(WRITE_EVERY_MS);
      const held = await hold(locks, KEY, kind, () => delay(WRITE_MS));
      await next;
      return held;
    });
  },
};

/** Many readers in several processes, and an occasional writer. */
export async function* measure({ rounds, loopMs }) {
  const faults = [];
  const runs = await Arena.run(import.meta.url, async (arena) => {
    const clients = await arena.clientsOf(OURS, PROCESSES + 1);
    await oneRun(clients, KINDS[READ_WRITE], loopMs / 2);
    return interleaved(rounds, Object.keys(KINDS), async (subject) => {
      const run = await oneRun(clients, KINDS[subject], loopMs);
      if (run.overlaps > 0) faults.push(`${subject}: a writer was not alone, ${run.overlaps} times`);
      return run;
    });
  });
  yield result(runs, faults);
}

async function oneRun([writer, ...readers], kinds, forMs) {
  const startAt = Date.now() + 100;
  const [written, ...read] = await Promise.all([
    writer.call('write', { kind: kinds.writer, startAt, forMs }),
    ...readers.map((client) => client.call('read', { kind: kinds.reader, startAt, forMs })),
  ]);
  const writes = written.flat();
  const reads = read.flat(2);
  return {
    rate: (reads.length / forMs) * 1_000,
    waits: writes.map(([calledAt, from]) => (from - calledAt) / 1e6),
    overlaps: writes.filter(([, from, to]) => reads.some((other) => other[1] < to && from < other[2])).length,
  };
}

function result(runs, faults) {
  const rates = (subject) => runs.get(subject).map(({ rate }) => rate);
  const waits = (subject) => runs.get(subject).flatMap((run) => run.waits);
  const holds = (ms) => ms / READ_MS;
  const rows = [...runs.keys()].map((subject) => [
    subject,
    median(rates(subject)),
    median(waits(subject)),
    percentile(waits(subject), 0.99),
  ]);
  return {
    title: `${PROCESSES} processes with ${READERS} looping readers each that hold ${READ_MS} ms, a writer every ${WRITE_EVERY_MS} ms`,
    note: `The writer, in a separate process, holds ${WRITE_MS} ms. Its waits are those of all rounds together.`,
    tables: [
      {
        columns: ['', 'reads/s', 'writer waits, median ms', 'writer waits, p99 ms'],
        rows,
        better: [0, 1, 0, 0],
      },
    ],
    goals: [
      goal(
        'reads/s, of one exclusive lock',
        rates(READ_WRITE).map((rate, round) => rate / rates(EXCLUSIVE)[round]),
        { atLeast: 10 },
      ),
      goal('writer waits, median, in holds of a reader', holds(median(waits(READ_WRITE))), { below: 2 }),
      goal('writer waits, p99, in holds of a reader', holds(percentile(waits(READ_WRITE), 0.99)), { below: 4 }),
      goal('writers that were not alone', faults.length, { atMost: 0 }),
    ],
    faults,
  };
}
