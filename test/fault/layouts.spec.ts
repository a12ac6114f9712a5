import { setTimeout as sleep } from 'node:timers/promises';

import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { startOneNodeCluster } from '../support/redis-cluster.js';
import { startRedisServer } from '../support/redis-server.js';
import { onCleanup } from '../support/cleanup.js';
import { type Connection, type Locks, openLocks, type StoreSettings } from './support/lock-engine.js';
import { LockProcess } from './support/lock-process.js';
import { fencingTokensRise, overlaps } from './support/witness.js';

const FENCE = new RedisKeys('lock:').fence;
const FIGHT = { key: 'contended', callers: 4, forMs: 3_000, holdMs: 1, wait: '10s' } as const;

interface Member {
  readonly connection: Connection;
  readonly store?: StoreSettings;
}

/** Real processes compete for one key. Fails if two holders overlap, or a fencing token does not rise. */
async function compete(members: readonly Member[]): Promise<void> {
  const fleet = await Promise.all(
    members.map(({ connection, store = {} }) => LockProcess.start(connection, { LOCK_STORE: JSON.stringify(store) })),
  );
  const fights = await Promise.all(fleet.map((process) => process.do('fight', FIGHT)));
  const holds = fights.flatMap((fight) => fight.holds);
  for (const { holds: own, refusals } of fights) {
    expect(own.length).toBeGreaterThan(20);
    expect(refusals).toEqual({});
  }
  expect(overlaps(holds)).toEqual([]);
  expect(fencingTokensRise(holds)).toBe(true);
  expect(fleet.flatMap(({ trouble }) => trouble)).toEqual([]);
}

async function tokenOf(locks: Locks, key: string): Promise<number> {
  const lease = await locks.acquire(key, { wait: '2s' });
  await lease.release();
  return lease.fencingToken;
}

function open(connection: Connection, store: StoreSettings): Locks {
  const locks = openLocks(connection, {}, store);
  onCleanup(() => locks.engine.close());
  return locks;
}

describe('Instances with different layouts on one prefix', () => {
  it('exclude each other, and their fencing tokens rise, on a server that accepts both', async () => {
    const { url } = await startRedisServer();
    await compete(
      (['single', 'slot', 'auto', 'slot'] as const).map((layout) => ({ connection: url, store: { layout } })),
    );
  });

  it('take every fencing token from the clock while both are in use', async () => {
    const server = await startRedisServer();
    const [single, slot] = [open(server.url, { layout: 'single' }), open(server.url, { layout: 'slot' })];
    const tokens = [];
    for (let i = 0; i < 20; i += 1) tokens.push(await tokenOf(single, 'key'), await tokenOf(slot, 'key'));
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    // The mark does not change what the shared counter counts.
    const counter = await server.run((redis) => redis.get(FENCE));
    expect(counter).toMatch(new RegExp(`^${tokens.at(-2)}~\\d+$`));
  });

  it('count again when the mark of the other layout has ended', async () => {
    const server = await startRedisServer();
    const [single, slot] = [open(server.url, { layout: 'single' }), open(server.url, { layout: 'slot' })];
    await tokenOf(single, 'key');
    await tokenOf(slot, 'key');
    const marked = await server.run((redis) => redis.get(FENCE));
    expect(marked).toMatch(/~\d+$/);
    await server.run((redis) => redis.set(FENCE, String(marked).replace(/~.*/, '~1')));
    const first = await tokenOf(single, 'other');
    expect(await tokenOf(single, 'other')).toBe(first + 1);
  });
});

describe('A server that only runs scripts for one slot', () => {
  it('has one layout for a URL, an ioredis client and a Cluster client', async () => {
    const { url, port } = await startOneNodeCluster();
    const cluster = { cluster: [{ host: '127.0.0.1', port }], options: {} };
    await compete([{ connection: url }, { connection: { application: url } }, { connection: cluster }]);
  });

  it('has one layout for a prefix with a {tag} too', async () => {
    const { url } = await startOneNodeCluster();
    const locks = open(url, {});
    expect(await tokenOf(locks, '{tag}:a')).toBeLessThan(await tokenOf(locks, '{tag}:a'));
  });

  it('refuses layout "single" at the start, with both layouts in the message', async () => {
    const { url } = await startOneNodeCluster();
    const locks = open(url, { layout: 'single' });
    await expect(locks.engine.connect()).rejects.toThrow(/"single".*CROSSSLOT.*"slot"/s);
  });

  it('may replace a server that accepted both, and callers notice nothing', async () => {
    const first = await startRedisServer();
    const locks = open(first.url, {});
    const before = await tokenOf(locks, 'key');
    await first.kill();
    const second = await startOneNodeCluster({ port: first.port });
    const after = await Promise.all(['key', 'a', 'b'].map((key) => tokenOf(locks, key)));
    expect(after[0]).toBeGreaterThan(before);
    await second.kill();
    await sleep(50);
    await first.restart();
    const last = await tokenOf(locks, 'key');
    expect(last).toBeGreaterThan(after[0]);
    expect(Number(await first.run((redis) => redis.get(FENCE)))).toBeGreaterThanOrEqual(last);
  });
});
