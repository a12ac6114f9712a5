import { setTimeout as sleep } from 'node:timers/promises';

import type { AcquireOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { eventually } from '../support/eventually.js';
import { type FaultProxy, startFaultProxy } from '../support/proxy/fault-proxy.js';
import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { LockProcess } from './support/lock-process.js';
import { monotonicMs } from '../support/monotonic.js';
import { overlaps } from './support/witness.js';

const FOR_MS = 5_000;
const HEARTBEAT_MS = 1_430;
/** A replica is in step at once. */
const config = { 'repl-diskless-sync-delay': '0' };

const DRIVERS = [
  [2, 'ioredis'],
  [3, 'ioredis'],
  [2, 'ioredis-5'],
] as const;

// The processes alone may take long to start on a busy machine.
import.meta.jest.setTimeout(90_000);

/** A planned failover behind one endpoint: open connections stay, and the old primary answers READONLY. */
describe.each(DRIVERS)('P28: a planned failover behind open connections, RESP%i, %s', (protocol, driver) => {
  const env = { TEST_IOREDIS: driver };

  it.each<[string, AcquireOptions]>([
    ['exclusive callers', {}],
    ['strict callers', { fair: 'strict' }],
    ['writers', { kind: 'write' }],
    ['callers for one permit', { kind: 'semaphore', permits: 1 }],
  ])('lets no two holders overlap: %s', async (_, options) => {
    const pair = await startPair();
    const processes = await startProcesses(pair.endpoint.port);
    const plan = {
      key: 'job',
      callers: 4,
      forMs: FOR_MS,
      leastHolds: 34,
      holdMs: 3,
      ttl: '30s',
      wait: '1m',
      ...options,
    } as const;
    const fights = Promise.all(processes.map((process) => process.do('fight', plan)));

    await sleep(1_500);
    await failOver(pair);

    const done = await fights;
    const holds = done.flatMap((fight) => fight.holds);
    expect(overlaps(holds)).toEqual([]);
    expect(done.map(({ refusals }) => refusals)).toEqual([{}, {}, {}]);
    // The locks continue after the failover.
    expect(holds.length).toBeGreaterThan(100);
    await Promise.all(processes.map((process) => process.kill()));
  });

  it('moves the subscriptions to the new primary, and serves waiters at their usual rate after 5 s', async () => {
    const pair = await startPair();
    const [moved, steady] = [
      await startProcesses(pair.endpoint.port),
      await startProcesses((await startPair()).old.port),
    ];
    const plan = { key: 'job', callers: 4, forMs: 9_000, holdMs: 3, ttl: '30s', wait: '1m' } as const;
    const startedAt = monotonicMs();
    const fights = [moved, steady].map((all) => Promise.all(all.map((process) => process.do('fight', plan))));

    await sleep(2_000);
    const failedOverAt = monotonicMs();
    await failOver(pair);
    const inboxes = (server: RedisServer) => server.run((redis) => redis.pubsub('CHANNELS', 'nestjs-lock:*'));
    await eventually(async () => {
      expect(await inboxes(pair.next)).toHaveLength(3);
      expect(await inboxes(pair.old)).toEqual([]);
    }, HEARTBEAT_MS);

    const [ours, beside] = await Promise.all(fights);
    const usual = [startedAt + 500, failedOverAt] as const;
    const later = [failedOverAt + 5_000, startedAt + plan.forMs] as const;
    // The machine has other work in some seconds. Callers of a server without a failover have the same seconds.
    const slowdown = rate(beside, ...later) / rate(beside, ...usual);
    const expected = rate(ours, ...usual) * Math.min(1, slowdown);
    expect(rate(ours, ...later) / expected).toBeGreaterThan(0.5);
    for (const own of ours) expect((3 * rate([own], ...later)) / expected).toBeGreaterThan(0.1);
    expect(overlaps(ours.flatMap(({ holds }) => holds))).toEqual([]);
    await Promise.all([...moved, ...steady].map((process) => process.kill()));
  });

  function startProcesses(port: number): Promise<LockProcess[]> {
    return Promise.all([1, 2, 3].map(() => LockProcess.start({ host: '127.0.0.1', port, protocol }, env)));
  }
});

/** Holds that began in each millisecond of that time. */
function rate(fights: readonly { holds: readonly { entered: number }[] }[], from: number, to: number): number {
  const entered = fights.flatMap(({ holds }) => holds.map((hold) => hold.entered));
  return entered.filter((at) => at >= from && at < to).length / (to - from);
}

interface Pair {
  readonly old: RedisServer;
  readonly next: RedisServer;
  readonly endpoint: FaultProxy;
}

/** A primary with a replica, behind one endpoint. */
async function startPair(): Promise<Pair> {
  const [old, next] = [await startRedisServer({ config }), await startRedisServer({ config })];
  await next.run((redis) => redis.call('REPLICAOF', '127.0.0.1', String(old.port)));
  await eventually(async () => {
    expect(await next.run((redis) => redis.info('replication'))).toContain('master_link_status:up');
  });
  return { old, next, endpoint: await startFaultProxy(old.port) };
}

async function failOver({ old, next, endpoint }: Pair): Promise<void> {
  endpoint.leadTo(next.port);
  await old.run((redis) => redis.call('FAILOVER', 'TO', '127.0.0.1', String(next.port)));
  await eventually(async () => {
    expect(await next.run((redis) => redis.info('replication'))).toContain('role:master');
  });
}
