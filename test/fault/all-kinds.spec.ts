import { setTimeout as sleep } from 'node:timers/promises';

import { eventually } from '../support/eventually.js';
import { Random } from '../simulation/random.js';
import { expectBelow } from './support/bound.js';
import { Jumble } from './support/jumble.js';
import { monotonicMs } from '../support/monotonic.js';
import type { Network } from './support/network.js';
import { stall } from './support/stall.js';
import { cluster, onePrimary, quorum, sentinel } from './support/topology.js';
import { useTopology } from './support/use-topology.js';

const FOR_MS = Number(process.env['JUMBLE_MS'] ?? 4_000);
const LONGEST_TTL_MS = 30_000;
const TIMEOUT_MS = FOR_MS + 2 * LONGEST_TTL_MS;
const LEAST_GRANTED = 101;
/** Every call must settle. Other specs measure how soon, on a process that does nothing else. */
const SETTLES_WITHIN_MS = 3_000;
/** A busy machine makes the server slow, so LOCK_UNAVAILABLE is possible. */
const USUAL = ['granted', 'LOCK_CONTENDED', 'LOCK_WAIT_TIMEOUT', 'LOCK_ABORTED', 'LOCK_UNAVAILABLE'];

describe.each([
  ['one primary', onePrimary, {}],
  ['Sentinel', sentinel, {}],
  ['Cluster', cluster, {}],
  ['a quorum', quorum, { exclusiveOnly: true }],
])('Concurrent locks of all kinds, of one key and of several keys, on %s', (_, start, plan) => {
  const world = useTopology(start);

  async function run(faults: (networks: readonly Network[]) => Promise<unknown>): Promise<void> {
    const networks = await Promise.all([1, 2, 3].map(() => world.network()));
    const engines = networks.map(({ ways }) => world.locks(ways));
    await Promise.all(engines.map(({ engine }) => engine.connect()));
    const jumble = new Jumble({ callers: 60, forMs: FOR_MS, atLeast: LEAST_GRANTED, ...plan });
    await Promise.all([jumble.run(engines), faults(networks)]);
    expect(jumble.inside.violations).toEqual([]);
    expectBelow(jumble.lateMs, SETTLES_WITHIN_MS);
    expect(jumble.granted).toBeGreaterThanOrEqual(LEAST_GRANTED);
    expect([...jumble.ends.keys()].filter((end) => !USUAL.includes(end))).toEqual([]);
    await Promise.all(engines.map(({ engine }) => engine.drain(1_000)));
    await eventually(async () => {
      for (const key of jumble.keys) expect([key, await world.left(key)]).toEqual([key, 0]);
    }, LONGEST_TTL_MS);
    expect(await world.endless()).toEqual([]);
  }

  it('exclude each other, and leave no key behind', () => run(() => Promise.resolve()), TIMEOUT_MS);

  it(
    'exclude each other while connections break, stall and lose replies',
    async () => {
      const random = new Random(1);
      const until = monotonicMs() + FOR_MS;
      await run(async (networks) => {
        while (monotonicMs() < until) {
          await sleep(random.int(100, 600));
          const network = random.pick(networks);
          const dice = random.next();
          if (dice < 0.5) network.cut();
          else if (dice < 0.8) void network.loseNextAnswers();
          else await stall(network, random.int(10, 1_500));
        }
      });
    },
    TIMEOUT_MS,
  );
});
