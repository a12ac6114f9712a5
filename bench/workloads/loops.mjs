import { OURS, PEERS, RAW_QUEUE } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { jain, median } from '../measuring/figures.mjs';
import { goal } from '../measuring/goals.mjs';
import { interleaved } from '../measuring/rounds.mjs';
import { faultsOf } from './support/witness.mjs';

const SUBJECTS = [RAW_QUEUE, OURS, ...PEERS];
const PROCESSES = 4;
const CALLERS = 25;
const KEY = 'loops';
const COUNTER = 'counter';

const nowNs = () => Number(process.hrtime.bigint());

export const calls = {
  /** Callers take the lock again and again; under it each raises a counter, unprotected but for the lock. */
  async loops({ locks, work, commands }, { startAt, forMs, opens }) {
    globalThis.gc();
    const holds = [];
    const before = opens ? await commands() : 0;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, startAt - Date.now())));
    const until = performance.now() + forMs;
    const untilNs = nowNs() + forMs * 1e6;
    const callers = await Promise.all(Array.from({ length: CALLERS }, () => caller({ locks, work }, until, holds)));
    return { callers, holds, inTime: holds.filter(([, to]) => to <= untilNs).length, before };
  },
  async commands({ commands }) {
    return commands();
  },
};

async function caller({ locks, work }, until, holds) {
  let count = 0;
  for (;;) {
    const held = await locks.acquire(KEY);
    // the monotonic clock of the machine, so that holds of several processes can be compared
    const from = nowNs();
    const value = Number(await work.get(COUNTER));
    await work.set(COUNTER, value + 1);
    holds.push([from, nowNs(), held.fencingToken ?? 0]);
    await locks.release(held);
    // a hold that began too late counts for the witness only
    if (performance.now() >= until) return count;
    count += 1;
  }
}

/** Several processes, each with callers that take one lock again and again. */
export async function* measure({ rounds, peerRounds, loopMs }) {
  const faults = [];
  const runs = await Arena.run(import.meta.url, (arena) =>
    interleaved(rounds, SUBJECTS, async (subject, round) => {
      if (PEERS.includes(subject) && round >= peerRounds) return undefined;
      const run = await oneRun(arena, subject, loopMs);
      faults.push(...run.faults.map((fault) => `${subject}: ${fault}`));
      return run;
    }),
  );
  yield result(runs, faults);
}

async function oneRun(arena, subject, forMs) {
  await arena.server.redis.flushall();
  const clients = await arena.clientsOf(subject, PROCESSES);
  const call = (ms) => {
    const startAt = Date.now() + 150;
    return Promise.all(clients.map((client, i) => client.call('loops', { startAt, forMs: ms, opens: i === 0 })));
  };
  const warmUp = await call(forMs / 4);
  const parts = await call(forMs);
  const sent = (await clients[0].call('commands')) - parts[0].before;
  await arena.end(...clients);
  const held = parts.flatMap(({ holds }) => holds);
  const all = [...warmUp.flatMap(({ holds }) => holds), ...held];
  const inTime = parts.map((part) => part.inTime);
  return {
    rate: (inTime.reduce((sum, count) => sum + count, 0) / forMs) * 1_000,
    commands: perHold(subject, sent, held.length),
    fairProcesses: jain(inTime),
    fairCallers: jain(parts.flatMap(({ callers }) => callers)),
    faults: faultsOf(all, Number(await arena.server.redis.get(COUNTER)), subject === OURS),
  };
}

/** The SET of the counter is no command of the lock. */
function perHold(subject, sent, holds) {
  const countsSet = !SENDS_NO_SET.includes(subject);
  return (sent - (countsSet ? holds : 0)) / holds;
}

const SENDS_NO_SET = [OURS, 'redlock', '@sesamecare-oss/redlock'];

function result(runs, faults) {
  const done = (subject) => runs.get(subject).filter((run) => run !== undefined);
  const of = (subject, figure) => median(done(subject).map((run) => run[figure]));
  const toQueue = (subject) => median(done(subject).map((run, round) => run.rate / runs.get(RAW_QUEUE)[round].rate));
  const columns = ['', 'holds/s', 'of raw-queue', 'commands/hold', 'Jain, processes', 'Jain, callers'];
  const rows = SUBJECTS.map((subject) => [
    subject,
    of(subject, 'rate'),
    toQueue(subject),
    of(subject, 'commands'),
    of(subject, 'fairProcesses'),
    of(subject, 'fairCallers'),
  ]);
  return {
    title: `One key, ${PROCESSES} processes with ${CALLERS} looping callers each, GET and SET of a counter under the lock`,
    tables: [{ columns, rows }],
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
