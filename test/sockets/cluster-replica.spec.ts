import { loop } from '../fault/support/load.js';
import { monotonicMs } from '../support/monotonic.js';
import { overlaps } from '../fault/support/witness.js';
import { useTopology } from '../fault/support/use-topology.js';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisServer } from '../support/redis-server.js';
import { startFaultProxy } from '../support/proxy/fault-proxy.js';
import { topologies } from './support/topologies.js';

const BEFORE_MS = 4_000;
const WARM_UP_MS = 1_000;
const RECOVERS_WITHIN_MS = 10_000;
const AFTER_MS = 4_000;

describe('a replica of a Cluster that stops with subscriptions', () => {
  const world = useTopology(topologies.Cluster);

  /** Starts four processes; the first one has its subscription on a replica. */
  async function arrange() {
    for (;;) {
      const ways = await Promise.all(world.servers.map(({ port }) => startFaultProxy(port)));
      const affected = world.locks(ways);
      await affected.engine.connect();
      const lease = await affected.acquire('warm-up', { wait: '5s' });
      await lease.release();
      const at = ways.findIndex((way) => way.open('inbox').length > 0);
      if (at >= world.servers.length / 2) return { affected, replica: world.servers[at] };
      await affected.engine.close();
    }
  }

  it('costs the processes at most half of their rate from 10 s on', async () => {
    const { affected, replica } = await arrange();
    const all = [affected, world.locks(), world.locks(), world.locks()];
    await Promise.all(all.map(({ engine }) => engine.connect()));
    const forMs = BEFORE_MS + RECOVERS_WITHIN_MS + AFTER_MS;
    const startedAt = monotonicMs();
    const loops = all.map((locks) => loop(locks, { key: 'looped', forMs, holdMs: 30, ttl: '30s', wait: '30s' }));
    await sleep(BEFORE_MS);

    const stoppedAt = stop(replica);
    const ended = await Promise.all(loops);
    replica.resume();

    const holds = ended.map((each) => each.holds.map(({ entered }) => entered));
    const rate = (from: number, to: number): number =>
      (holds.flat().filter((at) => at >= from && at < to).length * 1_000) / (to - from);
    const before = rate(startedAt + WARM_UP_MS, stoppedAt);
    const after = rate(stoppedAt + RECOVERS_WITHIN_MS, startedAt + forMs);
    expect(after / before).toBeGreaterThan(0.5);
    expect(holds[0].some((at) => at > stoppedAt + RECOVERS_WITHIN_MS)).toBe(true);
    expect(overlaps(ended.flatMap((each) => each.holds))).toEqual([]);
    expect(ended.map(({ refusals, settled }) => ({ refusals, settled }))).toEqual(
      all.map(() => ({ refusals: {}, settled: true })),
    );
  }, 60_000);
});

function stop(server: RedisServer): number {
  server.pause();
  return monotonicMs();
}
