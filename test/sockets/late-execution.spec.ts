import { setTimeout as sleep } from 'node:timers/promises';

import type { AcquireOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import type { Locks } from '../fault/support/lock-engine.js';
import { expectBelow } from '../fault/support/bound.js';
import { monotonicMs } from '../support/monotonic.js';
import { cluster, onePrimary, quorum, type StartTopology } from '../fault/support/topology.js';
import { useTopology, type TopologyWorld } from '../fault/support/use-topology.js';
import { eventually } from '../support/eventually.js';
import { startFaultProxy, type FaultProxy } from '../support/proxy/fault-proxy.js';
import type { ProxiedConnection } from '../support/proxy/proxied-connection.js';
import { StallWatch } from '../support/stall-watch.js';

/** How long after the client has closed its connection the server receives the delayed bytes. */
const LATE_MS = 5_000;
/** The time after the delivery within which the key must be free again (P19). */
const FREE_MS = 2_000;
/** The server executes a delivered command within this time. */
const EXECUTED_MS = 200;
const ttl = 30_000;

type Take = (locks: Locks, key: string) => Promise<Lease>;

const kinds: Readonly<Record<string, AcquireOptions>> = {
  exclusive: {},
  write: { kind: 'write' },
  read: { kind: 'read' },
  semaphore: { kind: 'semaphore', permits: 1 },
};
const taking =
  (options: AcquireOptions): Take =>
  (locks, key) =>
    locks.acquire(key, { ttl, ...options });

/** Returns a caller whose connections pass through proxies. */
async function callerOf(world: TopologyWorld, take: Take) {
  const proxies = await Promise.all(world.servers.map(({ port }) => startFaultProxy(port)));
  const locks = world.locks(proxies);
  const key = world.newKey();
  await (await take(locks, key)).release();
  // The second acquire on one primary increments its fencing token: the script with the fewest checks.
  await (await take(locks, key)).release();
  return { proxies, locks, key };
}

/** Runs `send`, and delays its commands until the client has lost its connections. */
async function sendInVain<T>(proxies: readonly FaultProxy[], send: () => Promise<T>) {
  const connections = proxies.flatMap((proxy) => proxy.open('commands'));
  for (const connection of connections) connection.holdRequests();
  const sent = send();
  sent.catch(() => undefined);
  const delayed = await eventually(() => {
    const found = connections.filter(({ holdsRequests }) => holdsRequests);
    if (found.length === 0) throw new Error('No command was sent');
    return found;
  });
  const closedAt = monotonicMs();
  for (const connection of connections) connection.closeAtClient();
  return { delayed, closedAt, sent };
}

async function deliverLate(delayed: readonly ProxiedConnection[], closedAt: number, lateMs = LATE_MS): Promise<number> {
  await sleep(closedAt + lateMs - monotonicMs());
  for (const connection of delayed) connection.deliver();
  const deliveredAt = monotonicMs();
  await sleep(EXECUTED_MS);
  return deliveredAt;
}

/** Asserts that callers with wait 0 get the lock: a waiting caller could repair the state. */
async function expectFree(other: Locks, key: string, take: Take, since: number): Promise<void> {
  const stalls = new StallWatch();
  await eventually(async () => (await take(other, key)).release());
  expectBelow(monotonicMs() - since, FREE_MS + stalls.stop());
}

type Case = (world: TopologyWorld) => Promise<void>;

/** Runs the cases of a topology in parallel before the first test, because each of them mostly waits. */
function itSideBySide(start: StartTopology, cases: Readonly<Record<string, Case>>): void {
  const world = useTopology(start);
  const outcomes = new Map<string, Promise<void>>();
  beforeAll(async () => {
    for (const [title, run] of Object.entries(cases)) outcomes.set(title, run(world));
    await Promise.allSettled(outcomes.values());
  }, 60_000);
  it.each(Object.keys(cases))('%s', (title) => outcomes.get(title));
}

async function grantedAndReleased(world: TopologyWorld, take: Take, lateMs = LATE_MS): Promise<void> {
  const { proxies, locks, key } = await callerOf(world, take);
  const { delayed, closedAt, sent } = await sendInVain(proxies, () => take(locks, key));
  await (await sent.catch(() => take(locks, key))).release();
  await eventually(async () => expect(await world.left(key)).toBe(0));

  const deliveredAt = await deliverLate(delayed, closedAt, lateMs);

  await expectFree(world.locks(), key, taking({}), deliveredAt);
}

async function refused(world: TopologyWorld, take: Take): Promise<void> {
  const { proxies, locks, key } = await callerOf(world, take);
  const other = world.locks();
  const held = await other.acquire(key, { ttl });
  const { delayed, closedAt, sent } = await sendInVain(proxies, () => take(locks, key));
  await expect(sent).rejects.toMatchObject({ code: /LOCK_CONTENDED|LOCK_UNAVAILABLE|LOCK_USAGE/ });
  await held.release();

  const deliveredAt = await deliverLate(delayed, closedAt);

  await expectFree(other, key, taking({}), deliveredAt);
}

function itLeavesTheKeyFree(start: StartTopology, takes: Readonly<Record<string, Take>>): void {
  const cases = Object.entries(takes).flatMap(([name, take]): [string, Case][] => [
    [
      `leaves the key free if the attempt was granted on the next connection, and released: ${name}`,
      (world) => grantedAndReleased(world, take),
    ],
    [
      `leaves the key free if the bytes arrive before the deadline, but after the release: ${name}`,
      (world) => grantedAndReleased(world, take, 0),
    ],
    [`leaves the key free if the attempt was refused: ${name}`, (world) => refused(world, take)],
  ]);
  itSideBySide(start, Object.fromEntries(cases));
}

describe('A late execution of an acquire', () => {
  describe('on one primary', () => {
    const all: Take = async (locks, key) => locks.acquireMultiKey([key, `${key}-2`], { ttl });
    const cases = Object.entries(kinds).map(([name, options]) => [name, taking(options)] as const);
    itLeavesTheKeyFree(onePrimary, { ...Object.fromEntries(cases), 'several keys': all });
  });

  describe('in a Cluster', () => itLeavesTheKeyFree(cluster, { exclusive: taking({}) }));

  describe('on a quorum', () => itLeavesTheKeyFree(quorum, { exclusive: taking({}) }));
});

async function sentByHolder(world: TopologyWorld, send: (lease: Lease) => Promise<unknown>): Promise<void> {
  const { proxies, locks, key } = await callerOf(world, taking({}));
  const lease = await locks.acquire(key, { ttl });
  const { delayed, closedAt, sent } = await sendInVain(proxies, () => send(lease));
  await sent.catch(() => undefined);
  await lease.release();
  await eventually(async () => expect(await world.left(key)).toBe(0));
  const other = await world.locks().acquire(key, { ttl });

  await deliverLate(delayed, closedAt);

  await other.extend(ttl);
  expect(other.isHeld()).toBe(true);
  await other.release();
  expect(await world.left(key)).toBe(0);
}

describe('A late execution of a command of a holder', () => {
  itSideBySide(onePrimary, {
    'changes nothing when its lease has been released: renewal': (world) =>
      sentByHolder(world, (lease) => lease.extend(2 * ttl)),
    'changes nothing when its lease has been released: release': (world) =>
      sentByHolder(world, (lease) => lease.release()),
  });
});
