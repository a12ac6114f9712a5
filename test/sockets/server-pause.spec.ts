import { setTimeout as sleep } from 'node:timers/promises';

import { useTopology, type TopologyWorld } from '../fault/support/use-topology.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startFaultProxy } from '../support/proxy/fault-proxy.js';
import { topologies, type TopologyName } from './support/topologies.js';

const PAUSE_MS = 2_000;
/** Longer than the limit for an overdue reply, because idle time must not count. */
const IDLE_MS = 3_500;
const NAMES: readonly TopologyName[] = [
  'one primary, RESP3',
  'one primary, RESP2',
  "the application's client",
  'Cluster',
  'quorum',
];
const TTL = '15s';

/** Pauses the servers after idle time, with a holder, a waiter, and callers that arrive during the pause. */
async function pause(world: TopologyWorld) {
  const ways = await Promise.all(world.servers.map(({ port }) => startFaultProxy(port)));
  const [holder, other] = [world.locks(ways), world.locks(ways)];
  await Promise.all([holder, other].map(({ engine }) => engine.connect()));
  const held = await holder.acquire('held', { ttl: TTL, wait: '5s' });
  const waiting = other.acquire('held', { ttl: TTL, wait: '20s' });
  await eventually(async () => expect(await world.waiting('held')).toBeGreaterThan(0));
  await (await holder.acquire('early', { ttl: TTL, wait: '5s' })).release();
  await sleep(IDLE_MS);
  const connections = ways.flatMap((way) => way.open());
  const accepted = ways.map((way) => way.connections.length);
  onCleanup(() => world.servers.forEach((server) => server.alive && server.resume()));

  for (const server of world.servers) server.pause();
  const during = ['a', 'b'].map((key) => holder.acquire(key, { ttl: TTL, wait: '10s' }));
  await sleep(PAUSE_MS);
  for (const server of world.servers) server.resume();

  const leases = await Promise.all(during);
  const opened = ways.map((way, i) => way.connections.length - accepted[i]).filter((count) => count > 0);
  const closed = connections.filter(({ open }) => !open).length;
  const kept = held.isHeld();
  await held.release();
  await Promise.all([...leases, await waiting].map((lease) => lease.release()));
  return { opened, closed, kept };
}

describe('a server that pauses for 2 s', () => {
  const worlds = NAMES.map((name) => ({ name, world: useTopology(topologies[name]) }));
  const outcomes = new Map<string, Promise<unknown>>();
  beforeAll(async () => {
    for (const { name, world } of worlds) outcomes.set(name, pause(world));
    await Promise.allSettled(outcomes.values());
  }, 60_000);

  it.each(worlds)('costs no connection and no lock: $name', async ({ name, world }) => {
    expect(await outcomes.get(name)).toEqual({ opened: [], closed: 0, kept: true });
    for (const key of ['held', 'a', 'b']) await eventually(async () => expect(await world.left(key)).toBe(0));
  });
});
