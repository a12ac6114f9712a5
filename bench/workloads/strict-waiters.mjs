import { OURS, RAW_QUEUE } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { median } from '../measuring/figures.mjs';
import { goal } from '../measuring/goals.mjs';
import { interleaved } from '../measuring/rounds.mjs';
import { burst } from './support/burst.mjs';

const SUBJECTS = [RAW_QUEUE, OURS];
const SETTLE_MS = 100;

export const calls = {
  async bursts({ locks, commands }, { waiters, times }) {
    const total = { handOffs: 0, tookMs: 0, commands: 0 };
    for (let i = 0; i < times; i += 1) {
      let before = 0;
      const between = async () => (before = await commands());
      const run = await burst(locks, { waiters, settleMs: SETTLE_MS, withinMs: 60_000, between });
      total.commands += (await commands()) - before;
      total.handOffs += run.handOffs;
      total.tookMs += run.tookMs;
    }
    return { rate: (total.handOffs / total.tookMs) * 1_000, commands: total.commands / total.handOffs };
  },
};

/** Like `waiters`, but served in the order of all processes. */
export async function* measure({ rounds, strictBursts }) {
  for (const waiters of [100, 1_000]) {
    const times = Math.ceil(strictBursts / waiters);
    const runs = await Arena.run(import.meta.url, async (arena) => {
      const clients = new Map();
      for (const subject of SUBJECTS) clients.set(subject, await arena.client(subject, { fair: 'strict' }));
      for (const client of clients.values()) await client.call('bursts', { waiters, times });
      return interleaved(rounds, SUBJECTS, (subject) => clients.get(subject).call('bursts', { waiters, times }));
    });
    yield result(waiters, runs);
  }
}

function result(waiters, runs) {
  const of = (subject, figure) => median(runs.get(subject).map((run) => run[figure]));
  const toQueue = runs.get(OURS).map((run, round) => run.rate / runs.get(RAW_QUEUE)[round].rate);
  return {
    title: `One key, ${waiters} waiters in one process, each once, fair: 'strict'`,
    tables: [
      {
        columns: ['', 'hand-offs/s', 'commands/hand-off'],
        better: [0, 1, -1],
        rows: SUBJECTS.map((subject) => [subject, of(subject, 'rate'), of(subject, 'commands')]),
      },
    ],
    goals: [
      goal('commands per hand-off', of(OURS, 'commands'), { atMost: 1.05 }),
      goal('hand-offs/s, of raw-queue', toQueue, { atLeast: 1, aim: 1.3 }),
    ],
  };
}
