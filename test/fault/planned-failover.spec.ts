import { setTimeout as sleep } from 'node:timers/promises';

import type { AcquireOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { eventually } from '../support/eventually.js';
import { startFaultProxy } from '../support/fault-proxy.js';
import { startRedisServer } from '../support/redis-server.js';
import { LockProcess } from './support/lock-process.js';
import { overlaps } from './support/witness.js';

const FOR_MS = 5_000;
/** A replica is in step at once. */
const config = { 'repl-diskless-sync-delay': '0' };

/** A planned failover behind one endpoint: open connections stay, and the old primary answers READONLY. */
describe.each([2, 3] as const)('P28: a planned failover behind open connections, RESP%i', (protocol) => {
  it.each<[string, AcquireOptions]>([
    ['exclusive callers', {}],
    ['strict callers', { fair: 'strict' }],
    ['writers', { kind: 'write' }],
    ['callers for one permit', { kind: 'semaphore', permits: 1 }],
  ])('lets no two holders overlap: %s', async (_, options) => {
    const [old, next] = [await startRedisServer({ config }), await startRedisServer({ config })];
    await next.run((redis) => redis.call('REPLICAOF', '127.0.0.1', String(old.port)));
    await eventually(async () => {
      expect(await next.run((redis) => redis.info('replication'))).toContain('master_link_status:up');
    });
    const endpoint = await startFaultProxy(old.port);
    const connection = { host: '127.0.0.1', port: endpoint.port, protocol };
    const processes = await Promise.all([1, 2, 3].map(() => LockProcess.start(connection)));
    const plan = { key: 'job', callers: 4, forMs: FOR_MS, holdMs: 3, ttl: '30s', wait: '1m', ...options } as const;
    const fights = Promise.all(processes.map((process) => process.do('fight', plan)));

    await sleep(1_500);
    endpoint.leadTo(next.port);
    await old.run((redis) => redis.call('FAILOVER', 'TO', '127.0.0.1', String(next.port)));
    await eventually(async () => {
      expect(await next.run((redis) => redis.info('replication'))).toContain('role:master');
    });

    const done = await fights;
    const holds = done.flatMap((fight) => fight.holds);
    expect(overlaps(holds)).toEqual([]);
    expect(done.map(({ refusals }) => refusals)).toEqual([{}, {}, {}]);
    // The locks continue after the failover.
    expect(holds.length).toBeGreaterThan(100);
    await Promise.all(processes.map((process) => process.kill()));
  });
});
