import type { RedisOptions } from 'ioredis';

import type { Connection } from '../../fault/support/lock-engine.js';
import {
  cluster,
  onePrimary,
  quorum,
  sentinel,
  type StartTopology,
  type Topology,
} from '../../fault/support/topology.js';

type Change = (connection: Connection) => Connection;

const changed =
  (start: StartTopology, change: Change): StartTopology =>
  async (config) => {
    const topology: Topology = await start(config);
    return { ...topology, connection: (ways, identity) => change(topology.connection(ways, identity)) };
  };

const onResp2: Change = (connection) => ({ ...(connection as RedisOptions), protocol: 2 });
const givenByApplication: Change = (connection) => ({ application: connection as RedisOptions });

/** The topologies with socket faults, by their names in the titles of the specs. */
export const topologies = {
  /** Commands and messages share one connection. */
  'one primary, RESP3': onePrimary,
  /** Messages have a separate connection. */
  'one primary, RESP2': changed(onePrimary, onResp2),
  "the application's client": changed(onePrimary, (connection) => givenByApplication(onResp2(connection))),
  "the application's Cluster client": changed(cluster, givenByApplication),
  Cluster: cluster,
  Sentinel: sentinel,
  quorum,
} as const satisfies Record<string, StartTopology>;

export type TopologyName = keyof typeof topologies;
