import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

import { Redis, type RedisOptions } from 'ioredis';

import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { expectBelow } from '../fault/support/bound.js';
import { locksOn, openLocks, PREFIX, type Locks } from '../fault/support/lock-engine.js';
import { monotonicMs } from '../support/monotonic.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startRedisServer, type RedisServer } from '../support/redis-server.js';
import { startFaultProxy, type FaultProxy } from '../support/proxy/fault-proxy.js';
import type { ProxiedConnection } from '../support/proxy/proxied-connection.js';

let server: RedisServer;
let keys = 0;
beforeAll(async () => (server = await startRedisServer()));

const newKey = (): string => `key-${(keys += 1)}`;

function closing(locks: Locks): Locks {
  onCleanup(() => locks.engine.close());
  return locks;
}

const resp2 = (proxy: FaultProxy): RedisOptions => ({ host: '127.0.0.1', port: proxy.port, protocol: 2 });

/**
 * Locks with a separate connection for messages, opened by the library or duplicated from a client of the application.
 */
const WAYS: readonly (readonly [string, (proxy: FaultProxy) => Locks])[] = [
  ['of the library', (proxy) => closing(openLocks(resp2(proxy)))],
  [
    "made from the application's client",
    (proxy) => {
      const client = new Redis(resp2(proxy));
      onCleanup(() => client.disconnect());
      return closing(locksOn(RedisLockStore.open(client, { prefix: PREFIX })));
    },
  ],
];

const FAULTS: readonly (readonly [string, (inbox: ProxiedConnection) => void])[] = [
  ['half-open', (inbox) => inbox.halfOpen()],
  ['closed at the server only', (inbox) => inbox.closeAtServer()],
];

describe.each(WAYS)('a subscription %s', (_, through) => {
  /** One waiter behind a holder. Its messages pass through a proxy. */
  async function arrange() {
    const proxy = await startFaultProxy(server.port);
    const key = newKey();
    const holder = await closing(openLocks(server.url)).acquire(key, { ttl: '60s' });
    const locks = through(proxy);
    const waiting = locks.acquire(key, { wait: '30s' });
    const inbox = await proxy.connection('inbox');
    await eventually(async () => {
      expect(await server.run((redis) => redis.zcard(`q1:{${PREFIX}${key}}`))).toBe(1);
    });
    return { proxy, holder, waiting, inbox };
  }

  it.each(FAULTS)('is closed and reopened when it is %s', async (__, happen) => {
    const { proxy, holder, waiting, inbox } = await arrange();
    const faultAt = monotonicMs();
    happen(inbox);

    await eventually(() => expect(inbox.open).toBe(false), 8_000);
    expectBelow(monotonicMs() - faultAt, 5_500);
    await proxy.connection('inbox');
    await sleep(100);
    const releasedAt = monotonicMs();
    await holder.release();
    await (await waiting).release();
    expectBelow(monotonicMs() - releasedAt, 150);
  });

  it('is not needed while it does not respond: waiters poll', async () => {
    const { holder, waiting, inbox } = await arrange();
    inbox.halfOpen();
    await sleep(3_500);
    expect(inbox.open).toBe(true);

    const releasedAt = monotonicMs();
    await holder.release();
    await (await waiting).release();
    expectBelow(monotonicMs() - releasedAt, 400);
  });

  it('is probed when a lock is granted without its message, also when no caller waits any longer', async () => {
    const { holder, waiting, inbox } = await arrange();
    inbox.halfOpen();
    const faultAt = monotonicMs();
    await holder.release();
    await (await waiting).release();
    await eventually(() => expect(inbox.open).toBe(false), 8_000);
    expectBelow(monotonicMs() - faultAt, 5_000);
  });

  it('is kept while the server pauses for 2 s and nothing is lost', async () => {
    const { proxy, holder, waiting, inbox } = await arrange();
    await sleep(1_000);
    const before = proxy.connections.length;
    proxy.hold();
    await sleep(2_000);
    await proxy.resume();

    await sleep(1_500);
    expect(inbox.open).toBe(true);
    expect(proxy.connections).toHaveLength(before);
    await holder.release();
    await (await waiting).release();
  });
});

describe('a SUBSCRIBE', () => {
  it.each([2, 3] as const)('whose reply is lost delays a free lock by 1 s at most (RESP%i)', async (protocol) => {
    const proxy = await startFaultProxy(server.port);
    const locks = closing(openLocks({ ...resp2(proxy), protocol }));
    await locks.engine.connect();
    const inbox = protocol === 3 ? await proxy.connection('commands') : undefined;
    const lost = inbox?.loseReply(/^subscribe/i) ?? loseNextSubscribe(proxy);
    const startedAt = monotonicMs();
    const lease = locks.acquire(newKey(), { wait: '10s' });
    await lost;
    await (await lease).release();
    // With RESP3 the same connection carries commands, so the library must replace it.
    expectBelow(monotonicMs() - startedAt, protocol === 3 ? 4_000 : 1_500);
    const dead = proxy.connections.find(({ roles }) => roles.has('inbox'))!;
    await eventually(() => expect(dead.open).toBe(false));
    await eventually(() => expect(proxy.open('inbox')).toHaveLength(1));
  });
});

/** The subscription is the last connection that the library opens, and carries no commands. */
async function loseNextSubscribe(proxy: FaultProxy): Promise<void> {
  const before = proxy.connections.length;
  while (proxy.connections.length === before) await nextTurn();
  await proxy.connections.at(-1)!.loseReply(/^subscribe/i);
}
