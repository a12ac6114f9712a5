import { setTimeout as sleep } from 'node:timers/promises';

import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { useTopology } from '../fault/support/use-topology.js';
import { startSocketProxy } from './support/socket-proxy.js';
import { topologies, type TopologyName } from './support/topologies.js';

const PAUSE_MS = 2_000;
/** Longer than a connection may be silent while a reply is expected: idle time must not count. */
const IDLE_MS = 3_500;
const NAMES: readonly TopologyName[] = [
  'one primary, RESP3',
  'one primary, RESP2',
  "the application's client",
  'Cluster',
  'quorum',
];

describe('a server that pauses for 2 s', () => {
  describe.each(NAMES)('%s', (name) => {
    const world = useTopology(topologies[name]);

    it('costs no connection, neither behind idle time nor while callers wait, and nothing is lost', async () => {
      const ways = await Promise.all(world.servers.map(({ port }) => startSocketProxy(port)));
      const [holder, other] = [world.locks(ways), world.locks(ways)];
      await Promise.all([holder, other].map(({ core }) => core.connect()));
      const held = await holder.acquire('held', { ttl: '10s', wait: '5s' });
      const waiting = other.acquire('held', { ttl: '10s', wait: '20s' });
      await eventually(async () => expect(await world.waiting('held')).toBeGreaterThan(0));
      const releasedEarly = await holder.acquire('early', { ttl: '10s', wait: '5s' });
      await releasedEarly.release();
      await sleep(IDLE_MS);
      const connections = ways.flatMap((way) => way.open());
      const accepted = ways.map((way) => way.connections.length);
      onCleanup(() => world.servers.forEach((server) => server.alive && server.resume()));

      for (const server of world.servers) server.pause();
      const during = ['a', 'b'].map((key) => holder.acquire(key, { ttl: '10s', wait: '10s' }));
      await sleep(PAUSE_MS);
      for (const server of world.servers) server.resume();

      const leases = await Promise.all(during);
      expect(ways.map((way) => way.connections.length)).toEqual(accepted);
      expect(connections.filter(({ open }) => !open).length).toBe(0);
      expect(held.isHeld()).toBe(true);
      await held.release();
      await Promise.all([...leases, await waiting].map((lease) => lease.release()));
      for (const key of ['held', 'a', 'b']) await eventually(async () => expect(await world.left(key)).toBe(0));
    });
  });
});
