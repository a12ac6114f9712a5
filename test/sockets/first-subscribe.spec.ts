import { monotonicMs } from '../support/monotonic.js';
import { expectBelow } from '../fault/support/bound.js';
import { useTopology } from '../fault/support/use-topology.js';
import { loseFirstReply, startFaultProxy } from '../support/proxy/fault-proxy.js';
import { topologies, type TopologyName } from './support/topologies.js';

const NAMES: readonly TopologyName[] = [
  'one primary, RESP3',
  'one primary, RESP2',
  "the application's client",
  'Cluster',
];

describe('a lost reply to the first SUBSCRIBE', () => {
  describe.each(NAMES)('%s', (name) => {
    const world = useTopology(topologies[name]);

    it('does not keep a waiting caller from a free lock', async () => {
      const ways = await Promise.all(world.servers.map(({ port }) => startFaultProxy(port)));
      void loseFirstReply(ways, /^subscribe /i);
      const locks = world.locks(ways);
      await locks.engine.connect();
      const startedAt = monotonicMs();

      const lease = await locks.acquire('free', { wait: '20s' });

      // The attempt leaves after 200 ms. With RESP3 its reply is lost, too, because the proxy discards all later bytes.
      expectBelow(monotonicMs() - startedAt, name === 'one primary, RESP3' ? 4_000 : 500);
      await lease.release();
    });
  });
});
