import { OURS, PEERS, RAW } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { median, percentile } from '../measuring/figures.mjs';
import { goal } from '../measuring/goals.mjs';
import { interleaved } from '../measuring/rounds.mjs';

const SUBJECTS = [RAW, OURS, ...PEERS];

export const calls = {
  /**
   * Runs a fixed number of cycles instead of a time, so that compilation does not depend on the load of the machine.
   */
  async warmUp({ locks }, { cycles }) {
    let left = cycles;
    const loop = async (_, i) => {
      for (; left > 0; left -= 1) await locks.release(await locks.acquire(`uncontended:${i}`));
    };
    // A single caller may use another code path.
    for (const loops of [128, 16, 1]) {
      left = loops === 1 ? cycles / 6 : cycles / 2;
      await Promise.all(Array.from({ length: loops }, loop));
    }
  },
  /** Each loop acquires and releases the lock of a separate key for `forMs`. */
  async cycles({ locks }, { loops, forMs }) {
    const latencies = [];
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    const until = startedAt + forMs;
    const loop = async (_, i) => {
      const key = `uncontended:${i}`;
      for (let before = performance.now(); before < until;) {
        await locks.release(await locks.acquire(key));
        const now = performance.now();
        latencies.push(now - before);
        before = now;
      }
    };
    await Promise.all(Array.from({ length: loops }, loop));
    const { user, system } = process.cpuUsage(cpu);
    return {
      p50: percentile(latencies, 0.5) * 1_000,
      rate: (latencies.length / (performance.now() - startedAt)) * 1_000,
      cpu: (user + system) / latencies.length,
      cycles: latencies.length,
    };
  },
};

/** Acquire and release without contention. */
export async function* measure({ rounds, uncontendedMs, warmUpCycles }) {
  const runs = new Map();
  await Arena.run(import.meta.url, async (arena) => {
    const clients = new Map();
    for (const subject of SUBJECTS) clients.set(subject, await arena.client(subject));
    for (const client of clients.values()) await client.call('warmUp', { cycles: warmUpCycles });
    for (const loops of [1, 16, 128]) {
      const cycles = async (subject) => {
        const before = await arena.server.cpuUs();
        const run = await clients.get(subject).call('cycles', { loops, forMs: uncontendedMs });
        return { ...run, serverCpu: ((await arena.server.cpuUs()) - before) / run.cycles };
      };
      runs.set(loops, await interleaved(rounds, SUBJECTS, cycles));
    }
  });
  for (const [loops, figures] of runs) yield result(loops, figures);
}

/** The ratio within each round. */
const toRaw = (runs, subject, figure) =>
  runs.get(subject).map((run, round) => run[figure] / runs.get(RAW)[round][figure]);

function result(loops, runs) {
  const columns = [
    '',
    'p50 us',
    'of raw',
    'cycles/s',
    'of raw',
    'client CPU us/cycle',
    'of raw',
    'server CPU us/cycle',
    'of raw',
  ];
  const of = (subject, figure) => median(runs.get(subject).map((run) => run[figure]));
  const rows = SUBJECTS.map((subject) => [
    subject,
    of(subject, 'p50'),
    median(toRaw(runs, subject, 'p50')),
    of(subject, 'rate'),
    median(toRaw(runs, subject, 'rate')),
    of(subject, 'cpu'),
    median(toRaw(runs, subject, 'cpu')),
    of(subject, 'serverCpu'),
    median(toRaw(runs, subject, 'serverCpu')),
  ]);
  return {
    title: `Uncontended cycle, ${loops} at a time`,
    tables: [{ columns, rows, better: [0, -1, 0, 1, 0, -1, 0, -1, 0] }],
    goals: goals(loops, runs),
  };
}

function goals(loops, runs) {
  const cpu = toRaw(runs, OURS, 'cpu');
  if (loops === 1) {
    return [
      goal('p50, of raw', toRaw(runs, OURS, 'p50'), { atMost: 1.1, aim: 1.05 }),
      goal('client CPU, of raw', cpu, { atMost: 1.15, aim: 1.05 }),
      goal('server CPU, of raw', toRaw(runs, OURS, 'serverCpu'), { atMost: 1.25 }),
    ];
  }
  if (loops === 16) return [goal('client CPU, of raw', cpu, { atMost: 0.85, aim: 0.65 })];
  const bestPeer = Math.max(...PEERS.map((peer) => median(toRaw(runs, peer, 'rate'))));
  return [
    goal('cycles/s, of raw', toRaw(runs, OURS, 'rate'), { atLeast: 1.5, aim: 2.4 }),
    goal('client CPU, of raw', cpu, { atMost: 0.5, aim: 0.3 }),
    goal('cycles/s, of the best peer', median(toRaw(runs, OURS, 'rate')) / bestPeer, { atLeast: 1 }),
  ];
}
