import { setTimeout as sleep } from 'node:timers/promises';

import { OURS, PEERS, RAW_QUEUE } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { median, percentile } from '../measuring/figures.mjs';
import { goal } from '../measuring/goals.mjs';
import { interleaved } from '../measuring/rounds.mjs';
import { nowUs, roundTripUs } from './support/monotonic.mjs';

const KEY = 'hand-off';
/** Long enough for both processes to become idle. */
const REST_MS = 15;

let held;

export const calls = {
  async take({ locks }) {
    held = await locks.acquire(KEY);
  },
  async release({ locks }) {
    const at = nowUs();
    await locks.release(held);
    // the reply to the parent would keep the core from the other process
    await sleep(REST_MS / 2);
    return at;
  },
  /** Runs both sides on a separate key until their code is compiled. */
  async warmUp({ locks, work }, { cycles }) {
    const each = async (_, i) => {
      await locks.release(await locks.acquire(`warm-up:${i}`));
      await work.ping();
    };
    for (let done = 0; done < cycles; done += 16) await Promise.all(Array.from({ length: 16 }, each));
  },
  /** Waits for the lock, and releases it after a pause. */
  async wait({ locks }) {
    const mine = await locks.acquire(KEY);
    const at = nowUs();
    await sleep(REST_MS);
    await locks.release(mine);
    return at;
  },
  ping: roundTripUs,
};

/** One process holds, and another one waits, without other load. Measures from the call of release until the grant. */
export async function* measure({ rounds, peerRounds, peersEverywhere, handOffs, warmUpCycles }) {
  const subjects = [RAW_QUEUE, OURS, ...(peersEverywhere ? PEERS : [])];
  const runs = await Arena.run(import.meta.url, async (arena) => {
    const pairs = new Map();
    for (const subject of subjects) pairs.set(subject, await arena.clientsOf(subject, 2));
    for (const pair of pairs.values())
      await Promise.all(pair.map((client) => client.call('warmUp', { cycles: warmUpCycles / 4 })));
    return interleaved(rounds, subjects, async (subject, round) => {
      if (PEERS.includes(subject) && round >= peerRounds) return undefined;
      return oneRun(pairs.get(subject), PEERS.includes(subject) ? Math.ceil(handOffs / 4) : handOffs);
    });
  });
  yield result(runs);
}

async function oneRun([holder, waiter], handOffs) {
  const tookUs = [];
  const pingUs = [];
  for (let i = -3; i < handOffs; i += 1) {
    await holder.call('take');
    const granted = waiter.call('wait');
    await sleep(REST_MS);
    const ping = await holder.call('ping');
    // at a random phase of the polling interval
    await sleep(REST_MS * (1 + Math.random()));
    const releasedAt = await holder.call('release');
    const took = (await granted) - releasedAt;
    if (i < 0) continue;
    tookUs.push(took);
    pingUs.push(ping);
  }
  return { p50: percentile(tookUs, 0.5), ping: percentile(pingUs, 0.5) };
}

function result(runs) {
  const done = (subject) => runs.get(subject).filter((run) => run !== undefined);
  const of = (subject, figure) => median(done(subject).map(figure));
  const trips = ({ p50, ping }) => p50 / ping;
  const rows = [...runs.keys()].map((subject) => [
    subject,
    of(subject, ({ p50 }) => p50),
    of(subject, ({ ping }) => ping),
    of(subject, trips),
  ]);
  return {
    title: 'Hand-off to another process, both idle otherwise',
    note: 'The waiter claims the lock before it begins. That costs a part of a round trip more than to begin on the message, which is not safe: [decision 0006](decisions/0006-claim-before-the-hold.md) has both figures.',
    tables: [{ columns: ['', 'p50 us', 'PING us', 'round trips'], rows, better: [0, 0, 0, -1] }],
    goals: [goal('p50 from release to granted, in round trips', runs.get(OURS).map(trips), { atMost: 2.5, aim: 1.5 })],
  };
}
