import { jest } from '@jest/globals';
import { createLocks } from 'nestjs-distribute-lock/core';

import { CHECKS } from '../../libs/cli/src/doctor/checks.js';
import { rightsOf } from '../../libs/cli/src/doctor/rights.js';
import { CHECKS_AT_START } from '../../libs/distribute-lock/src/store/redis/checks-at-start.js';
import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { eventually } from '../support/eventually.js';
import { startFaultProxy } from '../support/proxy/fault-proxy.js';
import { startLayer7Proxy } from '../support/layer7-proxy.js';
import { startOneNodeCluster, startRedisCluster } from '../support/redis-cluster.js';
import { startPrimaries } from '../support/redis-primaries.js';
import { startSentinelTopology } from '../support/redis-sentinels.js';
import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { documentedAcl, user } from '../topologies/documented-acl.js';
import { doctor } from './support/doctor.js';
import { runProgram } from './support/program.js';

// Each report needs a new process, and the machine may be busy.
jest.setTimeout(240_000);

const ONE_PRIMARY = 'one primary, with Sentinel or without; each node of a quorum';
const CLUSTER = 'Redis Cluster, on every node';
const LONG_MS = 60_000;

/** A server about which the doctor has nothing to say. */
const startHealthy = (config: Readonly<Record<string, string>> = {}): Promise<RedisServer> =>
  startRedisServer({ config: { appendonly: 'yes', ...config } });

const configure = (server: RedisServer, name: string, value: string): Promise<unknown> =>
  server.run((redis) => redis.config('SET', name, value));

const urlAs = ({ port }: RedisServer, { username, password }: typeof user): string =>
  `redis://${username}:${password}@127.0.0.1:${port}`;

/** Runs the `ACL SETUSER` of a remedy. */
async function grant(server: RedisServer, fix: string | undefined): Promise<void> {
  const [, words] = /ACL SETUSER (.*) on every server/.exec(fix ?? '') ?? [];
  if (words === undefined) throw new Error(`The remedy has no ACL SETUSER: ${fix}`);
  await server.run((redis) => redis.call('ACL', 'SETUSER', ...words.split(' ')));
}

describe('The doctor on a healthy server', () => {
  it('has every row of its table, none of which fails, and exits with 0', async () => {
    const report = await doctor((await startHealthy()).url);
    expect(report.rows.map(({ check }) => check)).toEqual(Object.keys(CHECKS));
    expect(report.names('failed')).toEqual([]);
    expect(report.names('warning')).toEqual([]);
    expect(report.names('skipped')).toEqual(['wait', 'coverage', 'sharded channels', 'Sentinel quorum']);
    expect(report.code).toBe(0);
  });

  it('prints a line for each row, and leaves no key behind', async () => {
    const server = await startHealthy();
    const { code, stdout, stderr } = await runProgram(['doctor', '--url', server.url]);
    expect(code).toBe(0);
    for (const check of Object.keys(CHECKS)) expect(stdout).toMatch(new RegExp(`^\\w+ +${check} `, 'm'));
    expect(stderr).toMatch(/^distribute-lock: 25 checks: 2\d ok, \d warnings, 0 failed, 4 skipped\.\n$/);
    // The counter of fencing tokens stays, and keys of tests expire within a second.
    await eventually(async () => expect(await server.run((redis) => redis.keys('*'))).toEqual(['f1:lock::5']), LONG_MS);
  });

  it('only prints failed rows with -q', async () => {
    const server = await startHealthy({ maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' });
    const { stdout, stderr } = await runProgram(['doctor', '-q', '--url', server.url]);
    expect(stdout).toMatch(/^failed +eviction .*\n +Fix: .*\n$/);
    expect(stderr).toBe('');
  });
});

describe('The checks at each start', () => {
  it('are rows of the doctor, with the same finding and remedy', async () => {
    expect(Object.keys(CHECKS)).toEqual(expect.arrayContaining(Object.keys(CHECKS_AT_START)));
    const server = await startOneNodeCluster();
    await configure(server, 'maxmemory', '100mb');
    await configure(server, 'maxmemory-policy', 'volatile-ttl');
    const warnings: string[] = [];
    const ignore = (): void => undefined;
    const log = { debug: ignore, log: ignore, warn: (line: string) => void warnings.push(line) };
    const locks = await createLocks({ connection: server.url, log });
    await eventually(() => expect(warnings).toHaveLength(2), LONG_MS);
    await locks.close();
    const report = await doctor(server.url);
    const [layout, eviction] = [report.row('layout'), report.row('eviction')];
    expect(warnings[0]).toContain(layout.finding);
    expect(warnings[1]).toContain(`${eviction.finding} ${eviction.fix}`);
  });
});

describe('The doctor finds, and no longer finds after the remedy', () => {
  it('a policy that evicts locks', async () => {
    const server = await startHealthy({ maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' });
    const broken = await doctor(server.url);
    expect(broken.names('failed')).toEqual(['eviction']);
    expect(broken.row('eviction').finding).toContain('maxmemory-policy allkeys-lru');
    expect(broken.row('eviction').fix).toContain('noeviction');
    expect(broken.code).toBe(1);
    await configure(server, 'maxmemory-policy', 'noeviction');
    const repaired = await doctor(server.url);
    expect(repaired.row('eviction').result).toBe('ok');
    expect(repaired.code).toBe(0);
  });

  it.each([
    ['with ACL DRYRUN', ['+acl|whoami', '+acl|dryrun'], 'ACL DRYRUN of'],
    ['without ACL DRYRUN', [], 'commands on a random key'],
  ])('a user without the right to publish, %s', async (_, more, how) => {
    const server = await startHealthy();
    const [name, ...rules] = documentedAcl(ONE_PRIMARY);
    const without = rules.filter((rule) => rule !== '+publish');
    await server.run((redis) => redis.call('ACL', 'SETUSER', name, ...without, ...more));
    const broken = await doctor(urlAs(server, user));
    expect(broken.names('failed')).toEqual(['rights', 'messages']);
    expect(broken.row('rights').finding).toContain(`User "locks" lacks rights for publish`);
    expect(broken.row('rights').finding).toContain(how);
    expect(broken.row('messages').finding).toContain('refuses PUBLISH in a script');
    expect(broken.row('messages').fix).toBe('Grant the user "+publish" and "&nestjs-lock:1:lock:*".');
    expect(broken.code).toBe(1);
    expect(broken.output).not.toContain(user.password);
    await grant(server, broken.row('rights').fix);
    const repaired = await doctor(urlAs(server, user));
    expect(repaired.names('failed')).toEqual([]);
    expect(repaired.row('messages').result).toBe('ok');
    expect(repaired.code).toBe(0);
  });

  it('a user without keys and channels', async () => {
    const server = await startHealthy();
    const [name, ...rules] = documentedAcl(ONE_PRIMARY);
    const without = rules.filter((rule) => !rule.startsWith('~s[aq]1:') && !rule.startsWith('&'));
    const more = ['+acl|whoami', '+acl|dryrun'];
    await server.run((redis) => redis.call('ACL', 'SETUSER', name, ...without, ...more));
    const broken = await doctor(urlAs(server, user));
    expect(broken.names('failed')).toEqual(['rights', 'semaphore', 'messages']);
    await grant(server, broken.row('rights').fix);
    const repaired = await doctor(urlAs(server, user));
    expect(repaired.names('failed')).toEqual([]);
    expect(repaired.code).toBe(0);
  });

  it('a user without the keys of tickets', async () => {
    const server = await startHealthy();
    const [name, ...rules] = documentedAcl(ONE_PRIMARY);
    const without = rules.map((rule) => rule.replace('[fgpqrst]', '[fgpqrs]'));
    await server.run((redis) => redis.call('ACL', 'SETUSER', name, ...without, '+acl|whoami', '+acl|dryrun'));
    const broken = await doctor(urlAs(server, user));
    expect(broken.row('rights')).toMatchObject({ result: 'warning', fix: expect.stringContaining('~t1:lock:*') });
    expect(broken.code).toBe(0);
    await grant(server, broken.row('rights').fix);
    expect((await doctor(urlAs(server, user))).row('rights').result).toBe('ok');
  });

  it('a proxy that only runs scripts for one slot', async () => {
    const [server, direct] = [await startOneNodeCluster(), await startHealthy()];
    await configure(server, 'appendonly', 'yes');
    const proxy = await startLayer7Proxy(server.port);
    const broken = await doctor(proxy.url);
    expect(broken.names('warning')).toEqual(['layout']);
    expect(broken.row('layout').finding).toMatch(/CROSSSLOT.*layout "slot"/);
    expect(broken.row('layout').fix).toMatch(/Connect without the proxy.*--layout slot/);
    expect(broken.names('failed')).toEqual([]);
    expect((await doctor(direct.url)).row('layout').result).toBe('ok');
    expect((await doctor(proxy.url, '--layout', 'slot')).names('warning')).toEqual([]);
  });

  it('a server that refuses EVAL', async () => {
    const server = await startHealthy();
    await server.run((redis) => redis.acl('SETUSER', 'default', '-eval', '-evalsha'));
    const broken = await doctor(server.url);
    expect(broken.names('failed')).toEqual(['rights', 'scripts']);
    expect(broken.row('scripts').finding).toMatch(/refuses EVAL: NOPERM.*Every lock needs it\./);
    expect(broken.row('exclusive lock').finding).toBe('Not checked, because the row "scripts" failed.');
    expect(broken.code).toBe(1);
    await grant(server, broken.row('rights').fix);
    const repaired = await doctor(server.url);
    expect(repaired.names('failed')).toEqual([]);
    expect(repaired.code).toBe(0);
  });

  it('a proxy without EVAL', async () => {
    const server = await startHealthy();
    const proxy = await startLayer7Proxy(server.port);
    proxy.rewrite = (command, reply) =>
      command.startsWith('eval') ? new Error(`ERR unknown command '${command}'`) : reply;
    const broken = await doctor(proxy.url);
    expect(broken.names('failed')).toEqual(['scripts']);
    expect(broken.row('scripts').finding).toContain(`refuses EVAL: ERR unknown command 'eval'`);
    expect(broken.row('scripts').fix).toContain('Use a server that allows EVAL');
    expect(broken.code).toBe(1);
    expect((await doctor(server.url)).names('failed')).toEqual([]);
  });

  it('a replica', async () => {
    const primary = await startHealthy();
    const replica = await startHealthy({ replicaof: `127.0.0.1 ${primary.port}` });
    const linked = async (): Promise<void> => {
      const infos = [replica, primary].map((server) => server.run((redis) => redis.info('replication')));
      expect((await Promise.all(infos)).join('')).toMatch(/master_link_status:up[^]*state=online/);
    };
    await eventually(linked, LONG_MS);
    const broken = await doctor(replica.url);
    expect(broken.names('failed')).toEqual(['role']);
    expect(broken.row('role').finding).toContain('It is a replica');
    expect(broken.code).toBe(1);
    const [, address] = /Connect to the primary (\S+),/.exec(broken.row('role').fix ?? '') ?? [];
    await eventually(async () => {
      const repaired = await doctor(`redis://${address}`);
      expect(repaired.row('role').result).toBe('ok');
      expect(repaired.row('replicas').finding).toBe('1 replica, 1 in step.');
      expect(repaired.row('wait').finding).toBe('1 of 1 replicas acknowledged a write.');
      expect(repaired.code).toBe(0);
    }, LONG_MS);
  });

  it('a clock that is off by a minute', async () => {
    const server = await startHealthy();
    const proxy = await startLayer7Proxy(server.port);
    let offByS = 60;
    proxy.rewrite = (command, reply) =>
      command === 'time' && Array.isArray(reply) ? [String(Number(String(reply[0])) + offByS), reply[1]] : reply;
    const broken = await doctor(proxy.url);
    expect(broken.names('failed')).toEqual(['clock offset']);
    expect(broken.row('clock offset').finding).toMatch(
      /The clock of the server is (59|60|61)\.\d s ahead of this host/,
    );
    expect(broken.row('clock offset').fix).toMatch(/^Synchronise the clocks/);
    expect(broken.code).toBe(1);
    offByS = -60;
    expect((await doctor(proxy.url)).row('clock offset').finding).toMatch(/(59|60|61)\.\d s behind this host/);
    offByS = 0;
    const repaired = await doctor(proxy.url);
    expect(repaired.row('clock offset').result).toBe('ok');
    expect(repaired.code).toBe(0);
  });

  it('a clock that is set while the checks run', async () => {
    const server = await startHealthy();
    const proxy = await startLayer7Proxy(server.port);
    let [offByS, scripts] = [0, 0];
    proxy.rewrite = (command, reply) => {
      // The first reading is before all scripts, and the last one behind the 100 calls.
      if (command === 'eval' && (scripts += 1) > 50) offByS = 7_200;
      return command === 'time' && Array.isArray(reply) ? [String(Number(String(reply[0])) + offByS), reply[1]] : reply;
    };
    const broken = await doctor(proxy.url);
    expect(broken.names('failed')).toEqual(['clock steps']);
    expect(broken.row('clock steps').finding).toMatch(/^The clock of the server moved by 7(199|200)\.\d s/);
    proxy.rewrite = (_, reply) => reply;
    expect((await doctor(proxy.url)).row('clock steps').result).toBe('ok');
  });

  it('a slow connection', async () => {
    const server = await startHealthy();
    const proxy = await startFaultProxy(server.port);
    proxy.delay(20);
    const slow = await doctor(proxy.url);
    expect(slow.row('latency').result).toBe('warning');
    expect(slow.row('latency').finding).toMatch(/^100 calls: median \d\d+\.\d\d ms/);
    expect(slow.names('failed')).toEqual([]);
    proxy.delay(0);
    await eventually(async () => expect((await doctor(proxy.url)).row('latency').result).toBe('ok'), LONG_MS);
  });

  it('a full server', async () => {
    const server = await startHealthy();
    await configure(server, 'maxmemory', '1');
    const broken = await doctor(server.url);
    expect(broken.names('failed')).toEqual(
      expect.arrayContaining(['memory', 'exclusive lock', 'read lock', 'semaphore']),
    );
    expect(broken.row('exclusive lock').finding).toContain('OOM');
    await configure(server, 'maxmemory', '0');
    expect((await doctor(server.url)).names('failed')).toEqual([]);
  });

  it('a server without an append-only file, and a client that subscribes with a pattern', async () => {
    const server = await startRedisServer();
    await server.run(async (redis) => {
      await redis.psubscribe('*');
      const broken = await doctor(server.url);
      expect(broken.names('warning')).toEqual(['persistence', 'patterns']);
      expect(broken.code).toBe(0);
    });
    await configure(server, 'appendonly', 'yes');
    await eventually(async () => expect((await doctor(server.url)).names('warning')).toEqual([]), LONG_MS);
  });
});

/** Masters of a busy machine must not give up each other. */
const PATIENT = { 'cluster-node-timeout': '20000' };
const WITHOUT_REPLICAS = { masters: 3, replicasEach: 0 };

describe('The doctor of a Cluster', () => {
  it('finds a URL that names one node, and slots without a master', async () => {
    const cluster = await startRedisCluster(
      { appendonly: 'yes', 'cluster-require-full-coverage': 'no', ...PATIENT },
      WITHOUT_REPLICAS,
    );
    const [first] = cluster.masters;
    const broken = await doctor(first.server.url);
    expect(broken.names('failed')).toEqual(['topology']);
    expect(broken.row('topology').finding).toMatch(/one node of a Redis Cluster with 3 masters/);
    const [, url] = /Use (redis\+cluster:\/\/\S+)\./.exec(broken.row('topology').fix ?? '') ?? [];

    const repaired = await doctor(url);
    expect(repaired.names('failed')).toEqual([]);
    expect(repaired.row('coverage').finding).toContain('16384 of 16384 slots served, 3 masters');
    expect(repaired.names('skipped')).toEqual(['wait', 'Sentinel quorum']);

    const slot = async (): Promise<number> => {
      const ranges = await first.server.run((redis) => redis.cluster('SLOTS'));
      return ranges.find(([, , [, port]]) => port === first.server.port)![0];
    };
    const lost = await slot();
    for (const { server } of cluster.nodes) await server.run((redis) => redis.cluster('DELSLOTS', lost));
    await eventually(async () => {
      const info = await first.server.run((redis) => redis.cluster('INFO'));
      expect(info).toContain('cluster_slots_ok:16383');
    }, LONG_MS);
    const uncovered = await doctor(url);
    expect(uncovered.row('coverage').result).toBe('failed');
    expect(uncovered.row('coverage').finding).toContain('16383 of 16384 slots served');
    expect(uncovered.code).toBe(1);
    await first.server.run((redis) => redis.cluster('ADDSLOTS', lost));
    await cluster.healthy();
    expect((await doctor(url)).row('coverage').result).toBe('ok');
  });

  it('passes with the documented rights', async () => {
    const cluster = await startRedisCluster({ appendonly: 'yes', ...PATIENT }, WITHOUT_REPLICAS);
    for (const { server } of cluster.nodes)
      await server.run((redis) => redis.call('ACL', 'SETUSER', ...documentedAcl(CLUSTER)));
    const nodes = cluster.masters.map(({ server }) => `127.0.0.1:${server.port}`).join(',');
    const report = await doctor(`redis+cluster://${user.username}:${user.password}@${nodes}`);
    expect(report.names('failed')).toEqual([]);
    expect(report.names('skipped')).toEqual(expect.arrayContaining(['wait', 'sharded channels']));
    expect(report.code).toBe(0);
  });
});

describe('The doctor of a primary with Sentinel', () => {
  it('finds a URL that names a Sentinel, and Sentinels without a majority', async () => {
    const topology = await startSentinelTopology({ replicas: 1, config: { appendonly: 'yes' } });
    const [first, ...others] = topology.sentinels;
    const broken = await doctor(first.url);
    expect(broken.row('topology').finding).toBe(`127.0.0.1:${first.port} is a Sentinel, which stores no locks.`);
    expect(broken.row('topology').fix).toContain(`redis+sentinel://127.0.0.1:${first.port}/NAME`);
    expect(broken.code).toBe(1);

    const nodes = topology.sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const url = `redis+sentinel://${nodes}/main`;
    // On a busy machine Sentinel may fail over once more.
    await eventually(async () => {
      const repaired = await doctor(url);
      expect(repaired.names('failed')).toEqual([]);
      expect(repaired.row('Sentinel quorum').result).toBe('ok');
      expect(repaired.row('Sentinel quorum').finding).toContain('3 usable Sentinels');
      expect(repaired.row('wait').finding).toBe('1 of 1 replicas acknowledged a write.');
    }, LONG_MS);

    for (const sentinel of others) await sentinel.kill();
    await eventually(async () => {
      const reply = await first.run((redis) => redis.call('SENTINEL', 'CKQUORUM', 'main')).catch(String);
      expect(reply).toContain('NOQUORUM');
    }, LONG_MS);
    const alone = await doctor(url);
    expect(alone.row('Sentinel quorum').result).toBe('failed');
    expect(alone.row('Sentinel quorum').finding).toContain('NOQUORUM');
    expect(alone.code).toBe(1);
    for (const sentinel of others) await sentinel.restart({ empty: false });
    await eventually(async () => expect((await doctor(url)).row('Sentinel quorum').result).toBe('ok'), LONG_MS);
  });
});

describe('The doctor of a quorum', () => {
  it('checks each node, and skips kinds that a quorum does not have', async () => {
    const servers = await startPrimaries(3, { config: { appendonly: 'yes' } });
    const url = servers.map((server) => server.url).join(',');
    const report = await doctor(url);
    expect(report.names('failed')).toEqual([]);
    expect(report.row('role').finding).toBe('3 servers: It is a primary.');
    expect(report.names('skipped')).toEqual(expect.arrayContaining(['write lock', 'read lock', 'semaphore']));
    await configure(servers[1], 'maxmemory', '100mb');
    await configure(servers[1], 'maxmemory-policy', 'allkeys-lru');
    const broken = await doctor(url);
    expect(broken.row('eviction').finding).toMatch(new RegExp(`^127.0.0.1:${servers[1].port}: A full Redis may evict`));
    expect(broken.code).toBe(1);
  });
});

describe('A server that refuses commands of the doctor', () => {
  it('gives skipped rows, and no failure', async () => {
    const server = await startHealthy();
    await server.run((redis) =>
      redis.acl(
        'SETUSER',
        'default',
        '-info',
        '-acl',
        '-pubsub',
        '-wait',
        '-cluster',
        '-client',
        '-role',
        '-config',
        '-spublish',
      ),
    );
    const report = await doctor(server.url);
    expect(report.names('failed')).toEqual([]);
    expect(report.names('skipped')).toEqual(
      expect.arrayContaining([
        'server',
        'role',
        'topology',
        'eviction',
        'memory',
        'persistence',
        'connections',
        'replicas',
        'wait',
        'patterns',
      ]),
    );
    expect(report.row('server').finding).toMatch(/^The server refuses a command of this check: NOPERM/);
    expect(report.row('exclusive lock').result).toBe('ok');
    expect(report.code).toBe(0);
  });

  it('passes with the documented rights, which are those of its table', async () => {
    const server = await startHealthy();
    const acl = documentedAcl(ONE_PRIMARY);
    await server.run((redis) => redis.call('ACL', 'SETUSER', ...acl));
    const report = await doctor(urlAs(server, user));
    expect(report.names('failed')).toEqual([]);
    expect(report.code).toBe(0);

    const granted = (rules: readonly string[]): string[] =>
      rules.filter((rule) => rule.startsWith('+')).map((rule) => rule.slice(1));
    const needed = (topology: 'one server' | 'Cluster'): string[] =>
      rightsOf({ keys: new RedisKeys('lock:'), topology }).map(({ rule, words }) => rule ?? words[0]);
    expect(new Set(needed('one server'))).toEqual(new Set(granted(acl)));
    expect(new Set(needed('Cluster'))).toEqual(new Set(granted(documentedAcl(CLUSTER))));
  });
});

describe('The doctor without a server', () => {
  it('exits with 69 and one sentence for a wrong password, which it does not print', async () => {
    const server = await startHealthy({ requirepass: 'a-secret' });
    const { code, stdout, stderr } = await runProgram([
      'doctor',
      '--url',
      `redis://:not-the-secret@127.0.0.1:${server.port}`,
    ]);
    expect(code).toBe(69);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^distribute-lock: Redis 127\.0\.0\.1:\d+ cannot be used: WRONGPASS [^\n]*\.\n$/);
    expect(stderr).not.toContain('secret');
  });

  it('exits with 69 when the server refuses connections', async () => {
    const server = await startRedisServer();
    await server.stop();
    const { code, stderr } = await runProgram(['doctor', '--url', server.url]);
    expect([code, stderr]).toEqual([
      69,
      `distribute-lock: Redis 127.0.0.1:${server.port} cannot be used: connect ECONNREFUSED 127.0.0.1:${server.port}.\n`,
    ]);
  });

  it.each([
    ['no URL', []],
    ['no URL of Redis', ['--url', 'http://:a-secret@localhost']],
    ['a URL without a host', ['--url', 'redis://:a-secret@/0']],
    ['Sentinel without a name', ['--url', 'redis+sentinel://:a-secret@localhost:26379']],
    ['a port that does not exist', ['--url', 'redis+cluster://:a-secret@localhost:70000']],
    ['an unknown layout', ['--url', 'redis://localhost', '--layout', 'wide']],
    ['an operand', ['key', '--url', 'redis://localhost']],
  ])('exits with 64 for %s, and does not print a password', async (_, flags) => {
    const { code, stdout, stderr } = await runProgram(['doctor', ...flags]);
    expect(code).toBe(64);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^distribute-lock: [^\n]+ See distribute-lock doctor --help\.\n$/);
    expect(stderr).not.toContain('a-secret');
  });
});
