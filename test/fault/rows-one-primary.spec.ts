import { describeAccessRows } from './rows/access-rows.js';
import { describeNetworkRows } from './rows/network-rows.js';
import { describeProcessRows } from './rows/process-rows.js';
import { describeDataRows, describeServerRows, SLOW_START } from './rows/server-rows.js';
import { onePrimary } from './support/topology.js';
import { useTopology } from './support/use-topology.js';

describe('one primary:', () => {
  describe('processes and the network', () => {
    const world = useTopology(onePrimary);
    describeProcessRows(world);
    describeNetworkRows(world);
  });

  describe('servers', () => {
    const world = useTopology(onePrimary, SLOW_START);
    describe('rejects callers without access within 2 s, with the reason and without a secret:', () =>
      describeAccessRows(world));
    describeDataRows(world);
    describeServerRows(world);
  });
});
