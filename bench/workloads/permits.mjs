import { OURS } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { jain, median } from '../measuring/figures.mjs';
import { goal } from '../measuring/goals.mjs';
import { interleaved } from '../measuring/rounds.mjs';
import { delay, hold, loops } from './support/looping.mjs';

const PROCESSES = 4;
const CALLERS = 25;
const PERMITS = 10;
const HOLD_MS = 1;
const PEER = 'redis-semaphore';

export const calls = {
  async loops({ locks }, time) {
    const kind = { kind: 'semaphore', permits: PERMITS };
    return loops(CALLERS, time, () => hold(locks, 'permits', kind, () => delay(HOLD_MS)));
  },
  async commands({ commands }) {
    return commands();
  },
};

/** A semaphore that callers of several processes acquire repeatedly. */
export async function* measure({ rounds, loopMs }) {
  const faults = [];
  const runs = await Arena.run(import.meta.url, async (arena) => {
    const clients = new Map();
    return interleaved(rounds, [OURS, PEER], async (subject) => {
      if (!clients.has(subject)) {
        clients.set(subject, await arena.clientsOf(subject, PROCESSES));
        await oneRun(clients.get(subject), loopMs / 2);
      }
      const run = await oneRun(clients.get(subject), loopMs);
      if (run.most > PERMITS) faults.push(`${subject}: ${run.most} held ${PERMITS} permits at once`);
      return run;
    });
  });
  yield result(runs, faults);
}

async function oneRun(clients, forMs) {
  const startAt = Date.now() + 100;
  const before = await clients[0].call('commands');
  const parts = await Promise.all(clients.map((client) => client.call('loops', { startAt, forMs })));
  const sent = (await clients[0].call('commands')) - before;
  const holds = parts.flat(2);
  return {
    rate: (holds.length / forMs) * 1_000,
    commands: sent / holds.length,
    most: mostAtOnce(holds),
    fairProcesses: jain(parts.map((callers) => callers.flat().length)),
    fairCallers: jain(parts.flatMap((callers) => callers.map(({ length }) => length))),
  };
}

/** Independent of Redis: the largest number of concurrent holders of a permit. */
function mostAtOnce(holds) {
  const steps = holds.flatMap(([, from, to]) => [
    [from, 1],
    [to, -1],
  ]);
  let inside = 0;
  let most = 0;
  for (const [, step] of steps.sort(([one, up], [other, down]) => one - other || up - down)) {
    inside += step;
    most = Math.max(most, inside);
  }
  return most;
}

function result(runs, faults) {
  const of = (subject, figure) => median(runs.get(subject).map((run) => run[figure]));
  const most = (subject) => Math.max(...runs.get(subject).map((run) => run.most));
  const columns = ['', 'holds/s', 'commands/hold', 'Jain, processes', 'Jain, callers', 'most at once'];
  const rows = [OURS, PEER].map((subject) => [
    subject,
    of(subject, 'rate'),
    of(subject, 'commands'),
    of(subject, 'fairProcesses'),
    of(subject, 'fairCallers'),
    most(subject),
  ]);
  const ahead = runs.get(OURS).map(({ rate }, round) => rate / runs.get(PEER)[round].rate);
  return {
    title: `A semaphore of ${PERMITS}, ${PROCESSES} processes with ${CALLERS} looping callers each that hold ${HOLD_MS} ms`,
    tables: [{ columns, rows, better: [0, 1, -1, 1, 1, 0] }],
    goals: [
      goal(`holds/s, of ${PEER}`, ahead, { atLeast: 1 }),
      goal('commands per hold', of(OURS, 'commands'), { atMost: 0.3 }),
      goal(`commands per hold, of ${PEER}`, of(OURS, 'commands') / of(PEER, 'commands'), { below: 1 }),
      goal("Jain's index over processes", of(OURS, 'fairProcesses'), { atLeast: 0.95 }),
      goal("Jain's index over callers", of(OURS, 'fairCallers'), { atLeast: 0.95 }),
      goal('most at once', most(OURS), { atMost: PERMITS }),
    ],
    faults,
  };
}
