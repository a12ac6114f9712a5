import { describeAccessRows } from './rows/access-rows.js';
import { describeNetworkRows } from './rows/network-rows.js';
import { describeProcessRows } from './rows/process-rows.js';
import { describeDataRows, describeFailoverRows, describeServerRows, SLOW_START } from './rows/server-rows.js';
import { cluster } from './support/topology.js';
import { useTopology } from './support/use-topology.js';

describe('Cluster:', () => {
  describe('processes and the network', () => {
    const world = useTopology(cluster);
    describeProcessRows(world);
    describeNetworkRows(world);
  });

  describe('servers', () => {
    const world = useTopology(cluster, SLOW_START);
    describe('rejects callers without access within 2 s, with the reason and without a secret:', () =>
      describeAccessRows(world));
    describeDataRows(world);
    describeServerRows(world);
    describeFailoverRows(world);
  });
});
