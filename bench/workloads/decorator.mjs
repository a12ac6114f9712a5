import { DistributeLock, LockService } from 'nestjs-distribute-lock';

import { openApplication } from '../adapters/ours.mjs';
import { OURS } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { median } from '../measuring/figures.mjs';
import { goal } from '../measuring/goals.mjs';
import { interleaved } from '../measuring/rounds.mjs';

const WAYS = ['by hand', 'decorated'];
const OPTIONS = { ttl: '30s', wait: '10m' };

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

class Decorated {
  async settle(invoice) {
    return invoice.id;
  }
}

/** The compiled form of `@DistributeLock(...)` and of the constructor types. */
function decorate() {
  const method = Object.getOwnPropertyDescriptor(Decorated.prototype, 'settle');
  const lock = DistributeLock({ key: 'invoice:#{arg0.id}', ...OPTIONS });
  Object.defineProperty(Decorated.prototype, 'settle', lock(Decorated.prototype, 'settle', method) ?? method);
}

let services;

export const calls = {
  async open({ url }, { way }) {
    if (way === 'decorated') decorate();
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
export async function* measure({ rounds, warmUpCycles, uncontendedMs }) {
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
      const [byHand, decorated] = WAYS.map((way) => runs.get(way).map(({ cpu }) => cpu));
      const ratios = decorated.map((cpu, round) => cpu / byHand[round]);
      rows.push([`${loops} at a time`, median(byHand), median(decorated), median(ratios)]);
      goals.push(goal(`client CPU, ${loops} at a time, of by hand`, ratios, { atMost: 1.25, aim: 1.1 }));
    }
  });
  const columns = ['', 'by hand, us/call', 'decorated, us/call', 'ratio'];
  yield { title: 'Decorator around an empty service method', tables: [{ columns, rows, better: [0, 0, 0, 0] }], goals };
}
