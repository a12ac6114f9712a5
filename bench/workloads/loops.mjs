import { OURS, PEERS, RAW, RAW_QUEUE } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { jain, median } from '../measuring/figures.mjs';
import { goal } from '../measuring/goals.mjs';
import { interleaved } from '../measuring/rounds.mjs';
import { faultsOf } from './support/witness.mjs';

const PROCESSES = 4;
const CALLERS = 25;
const KEY = 'loops';
const COUNTER = 'counter';
/** The limit of a lock without any cost: one caller of one process, and no lock. */
const NO_LOCK = 'no lock, one caller';

const nowNs = () => Number(process.hrtime.bigint());

export const calls = {
  /** Callers acquire the lock repeatedly. Each hold increments a counter that only the lock protects. */
  async loops({ locks, work }, { startAt, forMs }) {
    const holds = [];
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, startAt - Date.now())));
    const until = performance.now() + forMs;
    const untilNs = nowNs() + forMs * 1e6;
    const callers = await Promise.all(Array.from({ length: CALLERS }, () => caller({ locks, work }, until, holds)));
    return { callers, holds, inTime: holds.filter(([, to]) => to <= untilNs).length };
  },
  /** Increments the counter continuously, like a holder that never has to release. */
  async unlocked({ work }, { startAt, forMs }) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, startAt - Date.now())));
    const until = performance.now() + forMs;
    let inTime = 0;
    for (; performance.now() < until; inTime += 1) await raise(work, COUNTER);
    return { callers: [inTime], holds: [], inTime };
  },
  /** Runs on a separate key until the code is compiled. */
  async warmUp({ locks, work }, { cycles }) {
    const name = `warm-up:${process.pid}`;
    let left = cycles;
    const warm = async () => {
      for (; left > 0; left -= 1) {
        const held = await locks.acquire(name);
        await raise(work, `${name}:counter`);
        await locks.release(held);
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, warm));
  },
  async commands({ commands }) {
    return commands();
  },
};

async function caller({ locks, work }, until, holds) {
  let count = 0;
  for (;;) {
    const held = await locks.acquire(KEY);
    // the monotonic clock of the machine, so that holds of several processes are comparable
    const from = nowNs();
    await raise(work, COUNTER);
    holds.push([from, nowNs(), held.fencingToken ?? 0]);
    await locks.release(held);
    // a hold that started too late counts for the witness only
    if (performance.now() >= until) return count;
    count += 1;
  }
}

/** Uses commands that no lock sends, so that those of the lock can be counted. */
async function raise(work, counter) {
  const value = Number(await work.getrange(counter, 0, -1));
  await work.mset(counter, value + 1);
}

/** Several processes, each with callers that acquire one lock repeatedly. */
export async function* measure({ rounds, peerRounds, peersEverywhere, loopMs, warmUpCycles }) {
  const subjects = [RAW_QUEUE, NO_LOCK, OURS, ...(peersEverywhere ? PEERS : [])];
  const faults = [];
  const runs = await Arena.run(import.meta.url, async (arena) => {
    const clients = new Map();
    return interleaved(rounds, subjects, async (subject, round) => {
      if (PEERS.includes(subject) && round >= peerRounds) return undefined;
      if (!clients.has(subject)) {
        clients.set(subject, await open(arena, subject, warmUpCycles / 20));
        await allLoop(subject, clients.get(subject), loopMs / 2);
      }
      await arena.server.redis.del(COUNTER);
      const run = await oneRun(subject, clients.get(subject), loopMs);
      if (subject === NO_LOCK) return run;
      const counted = Number(await arena.server.redis.get(COUNTER));
      faults.push(...faultsOf(run.holds, counted, subject === OURS).map((fault) => `${subject}: ${fault}`));
      return run;
    });
  });
  yield result(runs, faults);
}

async function open(arena, subject, cycles) {
  if (subject === NO_LOCK) return arena.clientsOf(RAW, 1);
  const clients = await arena.clientsOf(subject, PROCESSES);
  // sequential, because this takes long for libraries that poll
  if (!PEERS.includes(subject)) for (const client of clients) await client.call('warmUp', { cycles });
  return clients;
}

function allLoop(subject, clients, forMs) {
  const startAt = Date.now() + 100;
  const name = subject === NO_LOCK ? 'unlocked' : 'loops';
  return Promise.all(clients.map((client) => client.call(name, { startAt, forMs })));
}

async function oneRun(subject, clients, forMs) {
  const before = await clients[0].call('commands');
  const parts = await allLoop(subject, clients, forMs);
  const sent = (await clients[0].call('commands')) - before;
  const holds = parts.flatMap((part) => part.holds);
  const inTime = parts.map((part) => part.inTime);
  return {
    holds,
    rate: (inTime.reduce((sum, count) => sum + count, 0) / forMs) * 1_000,
    commands: sent / Math.max(1, holds.length),
    fairProcesses: jain(inTime),
    fairCallers: jain(parts.flatMap(({ callers }) => callers)),
  };
}

function result(runs, faults) {
  const done = (subject) => runs.get(subject).filter((run) => run !== undefined);
  const of = (subject, figure) => median(done(subject).map((run) => run[figure]));
  const toQueue = (subject) => done(subject).map((run, round) => run.rate / runs.get(RAW_QUEUE)[round].rate);
  const columns = ['', 'holds/s', 'of raw-queue', 'commands/hold', 'Jain, processes', 'Jain, callers'];
  const rows = [...runs.keys()].map((subject) => [
    subject,
    of(subject, 'rate'),
    median(toQueue(subject)),
    of(subject, 'commands'),
    of(subject, 'fairProcesses'),
    of(subject, 'fairCallers'),
  ]);
  return {
    title: `One key, ${PROCESSES} processes with ${CALLERS} looping callers each, GET and SET of a counter under the lock`,
    note: 'GETRANGE and MSET replace GET and SET, so that the commands of the locks are counted separately. `no lock, one caller` sends them from one process without any lock: the limit of a lock without any cost.',
    tables: [{ columns, rows, better: [0, 1, 0, -1, 1, 1] }],
    goals: [
      goal('holds/s, of raw-queue', toQueue(OURS), { atLeast: 2.5, aim: 3.1 }),
      goal('commands per hold', of(OURS, 'commands'), { atMost: 0.2, aim: 0.07 }),
      goal("Jain's index over processes", of(OURS, 'fairProcesses'), { atLeast: 0.99 }),
      goal("Jain's index over callers", of(OURS, 'fairCallers'), { atLeast: 0.99 }),
      goal('overlaps, lost updates, falling tokens', faults.filter((fault) => fault.startsWith(OURS)).length, {
        atMost: 0,
      }),
    ],
    faults,
  };
}
