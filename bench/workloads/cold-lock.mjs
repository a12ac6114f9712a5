import { OURS, RAW } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { median } from '../measuring/figures.mjs';
import { goal } from '../measuring/goals.mjs';
import { interleaved } from '../measuring/rounds.mjs';
import { calls as uncontended } from './uncontended.mjs';

const SUBJECTS = [RAW, OURS];
const FOR_MS = 1_200;
/** Each round starts both subjects anew, so a figure needs several. */
const FEWEST_ROUNDS = 5;

export const calls = { cycles: (context, args) => uncontended.cycles(context, args) };

/** Like the uncontended cycle, 1 at a time, but in the first moments of each process, whose code is not compiled yet. */
export async function* measure({ rounds }) {
  const runs = await Arena.run(import.meta.url, (arena) =>
    interleaved(Math.max(rounds, FEWEST_ROUNDS), SUBJECTS, async (subject) => {
      const client = await arena.client(subject);
      const run = await client.call('cycles', { loops: 1, forMs: FOR_MS });
      await arena.end(client);
      return run;
    }),
  );
  yield result(runs);
}

function result(runs) {
  const of = (subject, figure) => median(runs.get(subject).map((run) => run[figure]));
  const toRaw = runs.get(OURS).map(({ cpu }, round) => cpu / runs.get(RAW)[round].cpu);
  const rows = SUBJECTS.map((subject) => [
    subject,
    of(subject, 'p50'),
    of(subject, 'cpu'),
    subject === RAW ? 1 : median(toRaw),
  ]);
  return {
    title: `Uncontended cycle, 1 at a time, in the first ${FOR_MS} ms of a process`,
    note: 'Most of the difference is code that the runtime interprets and compiles: an engine has more of it than two commands.',
    tables: [{ columns: ['', 'p50 us', 'client CPU us/cycle', 'of raw'], rows, better: [0, -1, -1, 0] }],
    goals: [goal('client CPU, of raw', toRaw, { atMost: 1.25 })],
  };
}
