import { setTimeout as sleep } from 'node:timers/promises';

import { OURS, PEERS, RAW_QUEUE } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { median } from '../measuring/figures.mjs';
import { goal } from '../measuring/goals.mjs';

const WAITERS = 1_000;
const KEY = 'parked';
const SLICES = 3;

export const calls = {
  async take({ locks }) {
    await locks.acquire(KEY);
  },
  /** Starts callers that wait until the process ends. */
  async wait({ locks }, { settleMs }) {
    for (let i = 0; i < WAITERS; i += 1) void locks.acquire(KEY);
    await sleep(settleMs);
  },
  /** Measures the load of the process while it only waits. */
  async rest({ commands }, { forMs }) {
    const before = await commands();
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    await sleep(forMs);
    const { user, system } = process.cpuUsage(cpu);
    const tookMs = performance.now() - startedAt;
    const sent = (await commands()) - before;
    return { commands: (sent / tookMs) * 1_000, cpu: (user + system) / tookMs / 10 };
  },
};

/** Many callers wait behind a holder that does not release. */
export async function* measure({ peersEverywhere, parkedMs }) {
  const subjects = [RAW_QUEUE, OURS, ...(peersEverywhere ? PEERS : [])];
  const rows = [];
  const goals = [];
  for (const subject of subjects) {
    const times = subject === OURS ? parkedMs.ours : parkedMs.others;
    for (const where of ['same', 'another']) {
      const run = await Arena.run(import.meta.url, (arena) => oneRun(arena, subject, where, times));
      rows.push([subject, where, run.commands, run.cpu]);
      if (subject !== OURS) continue;
      goals.push(
        goal(`${where} process: commands/s per process and key`, run.commands, { atMost: 1 }),
        goal(`${where} process: client CPU, %`, run.cpu, { below: 0.2 }),
      );
    }
  }
  yield {
    title: `${WAITERS} waiters behind one holder`,
    note: 'The holder in the same process as the waiters, or in another one; commands and CPU are those of the waiters.',
    tables: [{ columns: ['', 'process', 'commands/s', 'client CPU %'], rows, better: [0, 0, -1, -1] }],
    goals,
  };
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

async function oneRun(arena, subject, where, { settleMs, forMs }) {
  const waiting = await arena.client(subject);
  const holding = where === 'same' ? waiting : await arena.client(subject);
  await holding.call('take');
  await waiting.call('wait', { settleMs });
  const slices = [];
  for (let i = 0; i < SLICES; i += 1) slices.push(await waiting.call('rest', { forMs: forMs / SLICES }));
  // the runtime compacts its heap once, some seconds after the last caller has arrived; one slice contains that
  return { commands: mean(slices.map((slice) => slice.commands)), cpu: median(slices.map((slice) => slice.cpu)) };
}
