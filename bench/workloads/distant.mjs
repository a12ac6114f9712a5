import { setTimeout as sleep } from 'node:timers/promises';

import { OURS } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { median } from '../measuring/figures.mjs';
import { goal } from '../measuring/goals.mjs';
import { SlowLine } from '../measuring/slow-line.mjs';
import { nowUs, roundTripUs } from './support/monotonic.mjs';

/** `DISTANT_MS=30 npm run bench -- --only distant` measures a server that is further away. */
const ROUND_TRIP_MS = Number(process.env.DISTANT_MS ?? 10);
if (!(ROUND_TRIP_MS > 0))
  throw new Error(`DISTANT_MS is "${process.env.DISTANT_MS}", but it must be a number of milliseconds above 0.`);
const WAITS_MS = [50, 400, 900, 3_000];
const PROCESSES = 4;
const CALLERS = 100;
/** Long enough for all waiters to be queued. */
const SETTLE_MS = 500;

let held;

export const calls = {
  async take({ locks }, { key }) {
    held = await locks.acquire(key);
  },
  async release({ locks }) {
    const at = nowUs();
    await locks.release(held);
    return at;
  },
  /** Runs `callers` that each hold the lock for almost no time; resolves with the time of the last grant. */
  async wait({ locks }, { key, callers }) {
    let at;
    const caller = async () => {
      const mine = await locks.acquire(key);
      at = nowUs();
      await locks.release(mine);
    };
    await Promise.all(Array.from({ length: callers }, caller));
    return at;
  },
  ping: roundTripUs,
};

/** Processes far from the server: hand-overs after short and long waits, and a chain of short holds. */
export async function* measure({ rounds, handOffs }) {
  yield await Arena.run(import.meta.url, async (arena) => {
    const line = await SlowLine.to(arena.server, { roundTripMs: ROUND_TRIP_MS });
    try {
      arena.address = line;
      const [holder, ...waiters] = await arena.clientsOf(OURS, 1 + PROCESSES);
      const each = Math.max(4, Math.round((rounds * handOffs) / 30));
      await oneWait(holder, waiters[0], WAITS_MS[0], each);
      const waits = [];
      for (const waitMs of WAITS_MS) waits.push([waitMs, await oneWait(holder, waiters[0], waitMs, each)]);
      await oneChain(holder, waiters);
      const chains = [];
      for (let round = 0; round < rounds; round += 1) chains.push(await oneChain(holder, waiters));
      return result(waits, chains);
    } finally {
      await line.end();
    }
  });
}

/** Round trips from the call of release until the grant. The proxy may be late by a millisecond, so each time is compared with the median ping. */
async function oneWait(holder, waiter, waitMs, times) {
  const tookUs = [];
  const pingsUs = [];
  for (let i = 0; i < times; i += 1) {
    await holder.call('take', { key: 'distant' });
    const granted = waiter.call('wait', { key: 'distant', callers: 1 });
    await sleep(waitMs);
    pingsUs.push(await holder.call('ping'));
    const releasedAt = await holder.call('release');
    tookUs.push((await granted) - releasedAt);
  }
  return tookUs.map((us) => us / median(pingsUs));
}

/** Round trips from the release until the last of all waiters has the lock. */
async function oneChain(holder, waiters) {
  await holder.call('take', { key: 'chain' });
  const last = waiters.map((waiter) => waiter.call('wait', { key: 'chain', callers: CALLERS }));
  await sleep(SETTLE_MS);
  const pingUs = await holder.call('ping');
  const releasedAt = await holder.call('release');
  return (Math.max(...(await Promise.all(last))) - releasedAt) / pingUs;
}

function result(waits, chains) {
  const rows = waits.map(([waitMs, trips]) => [`after ${waitMs} ms of waiting`, median(trips)]);
  const chain = `${PROCESSES * CALLERS} waiters in ${PROCESSES} processes, each once`;
  return {
    title: `Hand-overs with ${ROUND_TRIP_MS} ms of round trip`,
    note:
      'A release, its message and the claim take two round trips: decision 0006 says why the hold begins only with the reply to the ' +
      'claim. In the chain, each caller holds the lock for almost no time, and turns of 32 holds share the hand-overs.',
    tables: [{ columns: ['', 'round trips'], rows: [...rows, [chain, median(chains)]], better: [0, 0] }],
    goals: [
      ...waits.map(([waitMs, trips]) => goal(`round trips after ${waitMs} ms`, trips, { atMost: 2.1 })),
      goal(`round trips of ${chain}`, chains, { atMost: 40 }),
    ],
  };
}
