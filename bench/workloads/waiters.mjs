import { setTimeout as sleep } from 'node:timers/promises';

import { OURS, PEERS, RAW_QUEUE } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { median } from '../measuring/figures.mjs';
import { goal } from '../measuring/goals.mjs';
import { interleaved } from '../measuring/rounds.mjs';
import { burst } from './support/burst.mjs';

const SUBJECTS = [RAW_QUEUE, OURS, ...PEERS];
/** Libraries that poll may not complete a hundred hand-overs in the time. */
const SETTLE_MS = 20;

export const calls = {
  /** Bursts of callers that wait behind one holder, until the time is up. */
  async bursts({ locks }, { waiters, forMs }) {
    let handOffs = 0;
    let tookMs = 0;
    while (tookMs < forMs) {
      const run = await burst(locks, { waiters, settleMs: SETTLE_MS, withinMs: forMs - tookMs });
      handOffs += run.handOffs;
      tookMs += run.tookMs;
      if (!run.complete) return { rate: (handOffs / tookMs) * 1_000, complete: false };
      await sleep(1);
    }
    return { rate: (handOffs / tookMs) * 1_000, complete: true };
  },
};

/** Many callers of one process ask for one lock, each once. */
export async function* measure({ rounds, burstMs, peerRounds }) {
  for (const waiters of [100, 1_000]) {
    const runs = await Arena.run(import.meta.url, (arena) =>
      measureBursts(arena, { waiters, rounds, peerRounds, burstMs }),
    );
    yield result(waiters, runs);
  }
}

async function measureBursts(arena, { waiters, rounds, peerRounds, burstMs }) {
  const clients = new Map();
  return interleaved(rounds, SUBJECTS, async (subject, round) => {
    if (PEERS.includes(subject) && round >= peerRounds) return undefined;
    if (!clients.has(subject)) clients.set(subject, await arena.client(subject));
    const client = clients.get(subject);
    if (round === 0 && !PEERS.includes(subject)) await client.call('bursts', { waiters, forMs: burstMs.warmUp });
    const run = await client.call('bursts', { waiters, forMs: PEERS.includes(subject) ? burstMs.peer : burstMs.fast });
    if (!run.complete) {
      // the remaining callers would disturb the next run
      clients.delete(subject);
      await arena.end(client);
      await arena.server.redis.flushall();
    }
    return run;
  });
}

function result(waiters, runs) {
  const rate = (subject) => median(runs.get(subject).flatMap((run) => (run === undefined ? [] : [run.rate])));
  const toQueue = runs.get(OURS).map((run, round) => run.rate / runs.get(RAW_QUEUE)[round].rate);
  const rows = SUBJECTS.map((subject) => [subject, rate(subject), rate(subject) / rate(RAW_QUEUE)]);
  const bestPeer = Math.max(...PEERS.filter((peer) => peer !== 'simple-redis-mutex').map(rate));
  return {
    title: `One key, ${waiters} waiters in one process, each once`,
    tables: [{ columns: ['', 'hand-offs/s', 'of raw-queue'], rows, better: [0, 1, 0] }],
    goals: [
      goal('hand-offs/s, of raw-queue', toQueue, { atLeast: 10, aim: waiters === 100 ? 16 : 29 }),
      goal('hand-offs/s, of the best ioredis peer', rate(OURS) / bestPeer, { atLeast: 50, aim: 150 }),
    ],
  };
}
