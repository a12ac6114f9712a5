import { expectBelow } from '../fault/support/bound.js';
import { openLocks, PREFIX } from '../fault/support/lock-engine.js';
import { monotonicMs } from '../support/monotonic.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startSentinelTopology, type SentinelTopology } from '../support/redis-sentinels.js';
import { startFaultProxy } from '../support/proxy/fault-proxy.js';

const TTL_MS = 6_000;
/** An idle subscription is probed every 10 s, and closed 2.5 s later. */
const REPLACED_WITHIN_MS = 15_000;

const leftOn = (topology: SentinelTopology, key: string): Promise<number> =>
  topology.primary.run((redis) => redis.pttl(PREFIX + key));

describe('the watches of all Sentinels, half-open or closed at the server only,', () => {
  /** The old primary accepts writes for about 10 s more: only the Sentinels announce the new one. */
  it('are replaced: a lease follows the primary in the next failover', async () => {
    const topology = await startSentinelTopology({ replicas: 1 });
    const ways = await Promise.all(topology.sentinels.map(({ port }) => startFaultProxy(port)));
    const sentinels = ways.map(({ port }) => ({ host: '127.0.0.1', port }));
    const locks = openLocks({ ...topology.connection, sentinels });
    onCleanup(() => locks.engine.close());
    await locks.engine.connect();
    const watches = await Promise.all(ways.map((way) => way.connection('watch')));

    const brokenAt = monotonicMs();
    watches[0].closeAtServer();
    for (const watch of watches.slice(1)) watch.halfOpen();
    await eventually(() => {
      for (const [i, way] of ways.entries()) expect(way.open('watch').some((one) => one !== watches[i])).toBe(true);
    }, REPLACED_WITHIN_MS);
    expectBelow(monotonicMs() - brokenAt, REPLACED_WITHIN_MS);

    const lease = await locks.acquire('watched', { ttl: TTL_MS, wait: '5s' });
    await topology.inStep();
    await topology.switchOver();
    await eventually(async () => expect(await leftOn(topology, 'watched')).toBeGreaterThan(TTL_MS - 500), TTL_MS);
    expect(lease.isHeld()).toBe(true);
    await lease.release();
  }, 60_000);
});
