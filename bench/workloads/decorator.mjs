import { AsyncLocalStorage } from 'node:async_hooks';

import { LockService } from 'nestjs-distribute-lock';

import { openApplication } from '../adapters/ours.mjs';
import { OURS } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { median } from '../measuring/figures.mjs';
import { goal } from '../measuring/goals.mjs';
import { interleaved } from '../measuring/rounds.mjs';
import { decorate, Decorated } from './support/decorated.mjs';

/** By hand in a process that uses `AsyncLocalStorage` elsewhere, like most applications with tracing or a request context. */
const WITH_STORAGE = 'by hand, with AsyncLocalStorage';
const WAYS = ['by hand', WITH_STORAGE, 'decorated'];
/** Also in a quick run: on a busy machine, the median of two rounds is far from that of the next run. */
const FEWEST_ROUNDS = 5;
const OPTIONS = { ttl: '30s', wait: '10m' };

const NOTE =
  'The decorator follows call chains by `AsyncLocalStorage`. From its first use in a process, Node 20 and 22 call a hook for every ' +
  'promise of the process. A process in which tracing or a request context uses it pays for that without the decorator, too: ' +
  'the second column. The goals compare with the first column.';

/** The lock written into the method. */
class ByHand {
  constructor(locks) {
    this.locks = locks;
  }

  async settle(invoice) {
    const lease = await this.locks.acquire(`invoice:${invoice.id}`, OPTIONS);
    try {
      return invoice.id;
    } finally {
      await lease.release();
    }
  }
}

let services;

export const calls = {
  async open({ url }, { way }) {
    if (way === 'decorated') decorate(OPTIONS);
    // Node 20 calls a hook for every promise of the process from the first run on.
    if (way === WITH_STORAGE) new AsyncLocalStorage().run(true, () => undefined);
    const byHand = { provide: ByHand, useFactory: (locks) => new ByHand(locks), inject: [LockService] };
    const application = await openApplication(url, [byHand, Decorated]);
    services = application.get(way === 'decorated' ? Decorated : ByHand);
  },
  async warmUp(_, { cycles }) {
    const each = (__, id) => services.settle({ id });
    for (let done = 0; done < cycles; done += 32) await Promise.all(Array.from({ length: 32 }, each));
  },
  async methods(_, { loops, forMs }) {
    let count = 0;
    const cpu = process.cpuUsage();
    const until = performance.now() + forMs;
    const loop = async (__, id) => {
      for (; performance.now() < until; count += 1) await services.settle({ id });
    };
    await Promise.all(Array.from({ length: loops }, loop));
    const { user, system } = process.cpuUsage(cpu);
    return { cpu: (user + system) / count };
  },
};

/** The cost of `@DistributeLock` in addition to the lock. */
export async function* measure({ rounds: wanted, warmUpCycles, uncontendedMs }) {
  const rounds = Math.max(wanted, FEWEST_ROUNDS);
  const rows = [];
  const goals = [];
  await Arena.run(import.meta.url, async (arena) => {
    const clients = new Map();
    for (const way of WAYS) clients.set(way, await arena.client(OURS));
    for (const [way, client] of clients) await client.call('open', { way });
    for (const client of clients.values()) await client.call('warmUp', { cycles: warmUpCycles });
    for (const loops of [1, 16, 128]) {
      const run = (way) => clients.get(way).call('methods', { loops, forMs: uncontendedMs });
      const runs = await interleaved(rounds, WAYS, run);
      const [byHand, withStorage, decorated] = WAYS.map((way) => runs.get(way).map(({ cpu }) => cpu));
      const ratios = decorated.map((cpu, round) => cpu / byHand[round]);
      const sameHooks = decorated.map((cpu, round) => cpu / withStorage[round]);
      const medians = [byHand, withStorage, decorated, ratios, sameHooks].map(median);
      rows.push([`${loops} at a time`, ...medians]);
      goals.push(goal(`client CPU, ${loops} at a time, of by hand`, ratios, { atMost: 1.25, aim: 1.1 }));
    }
  });
  const columns = ['', ...WAYS.map((way) => `${way}, us/call`), 'decorated, of by hand', `of ${WITH_STORAGE}`];
  yield {
    title: 'Decorator around an empty service method',
    note: NOTE,
    tables: [{ columns, rows, better: columns.map(() => 0) }],
    goals,
  };
}
