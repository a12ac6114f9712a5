import { describeAccessRows } from './rows/access-rows.js';
import { describeNetworkRows } from './rows/network-rows.js';
import { describeProcessRows } from './rows/process-rows.js';
import { describeDataRows, describeServerRows, SLOW_START } from './rows/server-rows.js';
import { quorum } from './support/topology.js';
import { useTopology } from './support/use-topology.js';

describe('quorum:', () => {
  describe('processes and the network', () => {
    const world = useTopology(quorum);
    describeProcessRows(world);
    describeNetworkRows(world);
  });

  describe('servers', () => {
    const world = useTopology(quorum, SLOW_START);
    describe('rejects callers without access within 2 s, with the reason and without a secret:', () =>
      describeAccessRows(world));
    describeDataRows(world);
    describeServerRows(world);
  });
});
