import { OURS, RAW_QUEUE } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { median } from '../measuring/figures.mjs';
import { goal } from '../measuring/goals.mjs';
import { interleaved } from '../measuring/rounds.mjs';
import { burst } from './support/burst.mjs';

const SUBJECTS = [RAW_QUEUE, OURS];
const WAITERS = 1_000;
const SETTLE_MS = 100;

export const calls = {
  async firstBurst({ locks }) {
    let before;
    const between = async () => {
      before = process.cpuUsage();
    };
    const { handOffs, tookMs } = await burst(locks, {
      waiters: WAITERS,
      settleMs: SETTLE_MS,
      withinMs: 60_000,
      between,
    });
    const { user, system } = process.cpuUsage(before);
    return { rate: (handOffs / tookMs) * 1_000, cpu: (user + system) / handOffs };
  },
};

/** Like `waiters`, but every run is the first work of its process, whose code is not compiled yet. */
export async function* measure({ rounds }) {
  const runs = await Arena.run(import.meta.url, (arena) =>
    interleaved(rounds, SUBJECTS, async (subject) => {
      const client = await arena.client(subject);
      const run = await client.call('firstBurst');
      await arena.end(client);
      return run;
    }),
  );
  yield result(runs);
}

function result(runs) {
  const of = (subject, figure) => median(runs.get(subject).map((run) => run[figure]));
  const toQueue = runs.get(OURS).map((run, round) => run.rate / runs.get(RAW_QUEUE)[round].rate);
  const rows = SUBJECTS.map((subject) => [
    subject,
    of(subject, 'rate'),
    of(subject, 'rate') / of(RAW_QUEUE, 'rate'),
    of(subject, 'cpu'),
  ]);
  return {
    title: `One key, the first ${WAITERS} waiters of a process, each once`,
    tables: [{ columns: ['', 'hand-offs/s', 'of raw-queue', 'client CPU us/hand-off'], rows, better: [0, 1, 0, -1] }],
    goals: [goal('hand-offs/s, of raw-queue', toQueue, { atLeast: 8 })],
  };
}
