import { describeAccessRows } from './rows/access-rows.js';
import { describeNetworkRows } from './rows/network-rows.js';
import { describeProcessRows } from './rows/process-rows.js';
import { describeDataRows, describeFailoverRows, describeServerRows } from './rows/server-rows.js';
import { sentinel } from './support/topology.js';
import { useTopology } from './support/use-topology.js';

/** Loading takes 2 ms per key, long enough for a test to observe. */
const SLOW_START = { 'key-load-delay': '2000', 'loading-process-events-interval-bytes': '1024' };

describe('Sentinel:', () => {
  describe('processes and the network', () => {
    const world = useTopology(sentinel);
    describeProcessRows(world);
    describeNetworkRows(world);
  });

  describe('servers', () => {
    const world = useTopology(sentinel, SLOW_START);
    describe('rejects callers without access within 2 s, with the reason and without a secret:', () =>
      describeAccessRows(world));
    describeDataRows(world);
    describeServerRows(world);
    describeFailoverRows(world);
  });
});
