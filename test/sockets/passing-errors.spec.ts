import { setTimeout as sleep } from 'node:timers/promises';

import { type Locks } from '../fault/support/lock-engine.js';
import { outcome } from '../fault/support/outcome.js';
import { cluster, onePrimary, quorum, sentinel, type StartTopology } from '../fault/support/topology.js';
import { useTopology } from '../fault/support/use-topology.js';
import { eventually } from '../support/eventually.js';
import { SCRIPTS } from './support/faults.js';
import { startFaultProxy, type FaultProxy } from '../support/proxy/fault-proxy.js';

/** Errors after which the same command may succeed, also errors that no release of the library knows. */
const ERRORS = [
  "MISCONF Redis is configured to save RDB snapshots, but it's unable to persist to disk",
  'ERR internal error',
  'INPROG Failover already in progress',
  'NEWERROR an error of a later release',
  'ERR Error running script (call to f_0): @user_script:1: MISCONF Errors writing to the AOF file',
];
const TTL_MS = 1_200;
const CALLERS = 5;
const CALLS = 20;

/** One call in ten gets an error; the others reach the server. */
function startErrors(ways: readonly FaultProxy[]): void {
  let errors = 0;
  for (const way of ways) {
    let calls = 0;
    const replyTo = (): string | undefined =>
      (calls += 1) % 10 === 0 ? `-${ERRORS[(errors += 1) % ERRORS.length]}\r\n` : undefined;
    way.prepare = (connection) => connection.interceptSome(SCRIPTS, replyTo);
    for (const connection of way.open()) way.prepare(connection);
  }
}

function endErrors(ways: readonly FaultProxy[]): void {
  for (const way of ways) {
    way.prepare = () => {};
    for (const connection of way.open()) connection.endIntercept();
  }
}

const topologies: Readonly<Record<string, StartTopology>> = {
  'one primary': onePrimary,
  Cluster: cluster,
  Sentinel: sentinel,
  quorum,
};

describe.each(Object.entries(topologies))('a server that answers one call in ten with an error: %s', (_, start) => {
  const world = useTopology(start);

  async function arrange() {
    const ways = await Promise.all(world.servers.map(({ port }) => startFaultProxy(port)));
    const locks = world.locks(ways);
    await locks.engine.connect();
    return { ways, locks };
  }

  it('fails no call that waits, ends no lease, and leaves no key behind', async () => {
    const { ways, locks } = await arrange();
    const [held, shared] = [world.newKey(), world.newKey()];
    const keys = Array.from({ length: CALLERS - 1 }, () => world.newKey());
    const lease = await locks.acquire(held, { ttl: TTL_MS, wait: '5s' });

    startErrors(ways);
    const refusals = await Promise.all([...keys, shared, shared].map((key) => refusalsOf(locks, key)));
    await sleep(2 * TTL_MS);
    endErrors(ways);

    expect(refusals.flat()).toEqual([]);
    expect(lease.isHeld()).toBe(true);
    await lease.release();
    for (const key of [held, shared, ...keys]) {
      await eventually(async () => expect(await world.left(key)).toBe(0), 2_000);
    }
  });
});

/** Acquires and releases in turn. Resolves with the reasons of the calls that failed. */
async function refusalsOf(locks: Locks, key: string): Promise<string[]> {
  const reasons: string[] = [];
  for (let i = 0; i < CALLS; i += 1) {
    const lease = await locks
      .acquire(key, { ttl: TTL_MS, wait: '2s' })
      .catch((error: Error) => void reasons.push(error.message));
    await lease?.release();
  }
  return reasons;
}

describe('a server that answers every call with an error', () => {
  const world = useTopology(onePrimary);

  async function arrange() {
    const way = await startFaultProxy(world.servers[0].port);
    const locks = world.locks([way]);
    await locks.engine.connect();
    const connection = await way.connection('commands');
    return { locks, connection };
  }

  it.each(ERRORS)('lets a caller wait until its wait has passed, and names the error: %s', async (error) => {
    const { locks, connection } = await arrange();
    connection.intercept(SCRIPTS, `-${error}\r\n`);
    const [waiting, refused] = await Promise.all([
      outcome(locks, world.newKey(), { wait: 600 }),
      outcome(locks, world.newKey(), { wait: 0 }),
    ]);
    for (const { code, message } of [waiting, refused]) {
      expect(code).toBe('LOCK_UNAVAILABLE');
      expect(message).toContain(error);
    }
    expect(waiting.tookMs).toBeGreaterThan(550);
    expect(waiting.tookMs).toBeLessThan(1_600);
    expect(refused.tookMs).toBeLessThan(400);
  });

  it('names the last error', async () => {
    const { locks, connection } = await arrange();
    connection.intercept(SCRIPTS, '-ERR the first error\r\n');
    const waiting = outcome(locks, world.newKey(), { wait: 1_500 });
    await sleep(400);
    connection.intercept(SCRIPTS, '-ERR the last error\r\n');
    expect((await waiting).message).toContain('the last error');
  });

  it.each([
    'OOM command not allowed when used memory > maxmemory',
    'WRONGTYPE Operation against a key holding the wrong kind of value',
    'NOPERM no permissions',
    'ERR ACL failure in script: User locks has no permissions',
    'ERR Error running script (call to f_0): @user_script:1: @user_script: 1: -OOM command not allowed',
  ])('refuses a caller at once when the error is lasting: %s', async (error) => {
    const { locks, connection } = await arrange();
    connection.intercept(SCRIPTS, `-${error}\r\n`);
    const { code, tookMs } = await outcome(locks, world.newKey(), { wait: '10s' });
    expect(code).toBe('LOCK_UNAVAILABLE');
    expect(tookMs).toBeLessThan(500);
  });
});
