import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { spawn } from 'node:child_process';

import { jest } from '@jest/globals';
import { createLocks, type Lease, type LockInspection, type OpenedLocks } from 'nestjs-distribute-lock/core';

import { isCommand, readCommandLine } from '../../libs/cli/src/parse.js';
import { COMMANDS } from '../../libs/cli/src/table.js';
import { Child } from '../support/child.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startRedisCluster } from '../support/redis-cluster.js';
import { startPrimaries } from '../support/redis-primaries.js';
import { startRedisServer } from '../support/redis-server.js';
import { Program, PROGRAM, runProgram } from './support/program.js';

// Each command needs a new process, and the machine may be busy.
jest.setTimeout(180_000);

const LONG_MS = 60_000;
const ignore = (): void => undefined;
const SILENT = { debug: ignore, log: ignore, warn: ignore };

const server = await startRedisServer();

type Connection = Parameters<typeof createLocks>[0]['connection'];

async function open(connection: Connection = server.url, prefix = 'lock:'): Promise<OpenedLocks> {
  const locks = await createLocks({ connection, prefix, log: SILENT });
  onCleanup(() => locks.close());
  return locks;
}

const locks = await open();
const others = await open();

const run = (...words: string[]) => runProgram(words, { REDIS_URL: server.url });

const acquirePermit = (key: string) => locks.acquire(key, { kind: 'semaphore', permits: 2 });

/** Waits with another process's locks until the queue contains the caller. */
async function waitBehind(key: string): Promise<{ readonly lease: Promise<Lease>; readonly abort: () => void }> {
  const controller = new AbortController();
  const lease = others.acquire(key, { wait: '10m', signal: controller.signal });
  lease.catch(ignore);
  await eventually(async () => expect((await locks.inspect(key)).waiting).toBe(1), LONG_MS);
  return { lease, abort: () => controller.abort() };
}

describe('distribute-lock inspect', () => {
  it('shows a free key', async () => {
    expect(await run('inspect', 'unused')).toMatchObject({ code: 0, stdout: 'unused: free\n', stderr: '' });
  });

  it('shows holders and waiting processes', async () => {
    const lease = await locks.acquire('report', { name: 'Reports.write' });
    const { abort } = await waitBehind('report');
    // This process names its holds, if it answers within 500 ms.
    await eventually(async () => {
      const { code, stdout } = await run('inspect', 'report');
      expect(code).toBe(0);
      expect(stdout).toMatch(/^report: held, exclusive, \d+\.\d s left, 1 process waiting\n {2}/);
      expect(stdout).toContain(`${hostname()} ${process.pid} `);
      expect(stdout).toContain(`Reports.write, for `);
      expect(stdout).toContain(`fencing token ${lease.fencingToken}\n`);
    }, LONG_MS);
    abort();
    await lease.release();
  });

  it('shows readers and permits', async () => {
    const readers = [await locks.acquire('pages', { kind: 'read' }), await others.acquire('pages', { kind: 'read' })];
    const permit = await locks.acquire('imports', { kind: 'semaphore', permits: 3 });
    expect((await run('inspect', 'pages')).stdout).toMatch(/^pages: held, read lock, 2 holders, /);
    expect((await run('inspect', 'imports')).stdout).toMatch(/^imports: held, semaphore of 3 permits, /);
    for (const lease of [...readers, permit]) await lease.release();
  });

  it('shows a detached lease with the time left, and those of a semaphore', async () => {
    await (await locks.acquire('seat')).detach({ ttl: '10m' });
    const [permit, other] = [await acquirePermit('seats'), await acquirePermit('seats')];
    await permit.detach({ ttl: '10m' });

    const seat = await run('inspect', 'seat');
    expect(seat.stdout).toMatch(
      /^seat: held, exclusive, \d+\.\d s left\n {2}detached, 59\d\.\d s left: no process [^\n]+\n$/,
    );
    const { stdout } = await run('inspect', 'seats');
    expect(stdout).toMatch(/^seats: held, semaphore of 2 permits, 2 holders, /);
    expect(stdout.match(/^ {2}detached: no process renews the lease/gm)).toHaveLength(1);
    const printed = JSON.parse((await run('inspect', 'seat', '--json')).stdout) as LockInspection;
    expect(printed.holders).toMatchObject([{ detached: true, here: false, holds: [] }]);
    await other.release();
  });

  it('prints the inspection as JSON', async () => {
    const lease = await locks.acquire('as-json');
    await eventually(async () => {
      const { stdout } = await run('inspect', 'as-json', '--json');
      const printed = JSON.parse(stdout) as LockInspection;
      expect(printed).toMatchObject({ key: 'as-json', held: true, kind: 'exclusive', waiting: 0 });
      expect(printed.holders[0]?.holds[0]?.fencingToken).toBe(lease.fencingToken);
    }, LONG_MS);
    await lease.release();
  });

  it('exits with 64 on a quorum, which does not support it', async () => {
    const servers = await startPrimaries(3);
    const { code, stderr } = await runProgram(['inspect', 'key', '--url', servers.map(({ url }) => url).join(',')]);
    expect(code).toBe(64);
    expect(stderr).toMatch(/^distribute-lock: Locks of this connection cannot be inspected[^\n]*\n$/);
  });
});

describe('distribute-lock list', () => {
  it('lists the held keys of each kind, and says that it is advisory', async () => {
    const mine = await open(server.url, 'list:');
    const leases = [
      await mine.acquire('b-exclusive'),
      await mine.acquire('a-read', { kind: 'read' }),
      await mine.acquire('c-permit', { kind: 'semaphore', permits: 2 }),
    ];
    await server.run((redis) => redis.set('list:d-foreign', 'by another client'));
    const { code, stdout, stderr } = await run('list', '--prefix', 'list:');
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(/^a-read +read, \d+\.\d s left$/),
      expect.stringMatching(/^b-exclusive +exclusive, \d+\.\d s left$/),
      expect.stringMatching(/^c-permit +semaphore, \d+\.\d s left$/),
      'd-foreign    foreign, no expiry',
    ]);
    expect(stderr).toBe('distribute-lock: The list is advisory: keys may have changed while the servers were read.\n');
    const { stdout: matching } = await run('list', '--prefix', 'list:', '--match', '?-r*', '--json', '-q');
    expect(JSON.parse(matching)).toEqual({
      advisory: true,
      complete: true,
      locks: [{ key: 'a-read', kind: 'read', holders: 1, detached: 0, remainingMs: expect.any(Number), waiting: 0 }],
    });
    for (const lease of leases) await lease.release();
  });

  it('shows which leases are detached', async () => {
    const mine = await open(server.url, 'detached:');
    const permits = { kind: 'semaphore', permits: 2 } as const;
    const other = await mine.acquire('b-permits', permits);
    for (const lease of [await mine.acquire('a-exclusive'), await mine.acquire('b-permits', permits)])
      await lease.detach({ ttl: '10m' });
    const { stdout } = await run('list', '--prefix', 'detached:');
    expect(stdout.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^a-exclusive {2}exclusive, detached, 59\d\.\d s left$/),
      expect.stringMatching(/^b-permits {4}semaphore \(2 holders\), 1 detached, 59\d\.\d s left$/),
    ]);
    const { locks: found } = JSON.parse((await run('list', '--prefix', 'detached:', '--json')).stdout) as {
      locks: { detached: number }[];
    };
    expect(found.map(({ detached }) => detached)).toEqual([1, 1]);
    await other.release();
  });

  it('takes a prefix with special characters literally', async () => {
    const prefix = 'app[1]*?\\:';
    const mine = await open(server.url, prefix);
    const lease = await mine.acquire('found');
    await server.run((redis) => redis.set('app1:not-found', 'x'));
    expect((await run('list', '--prefix', prefix)).stdout).toMatch(/^found +exclusive, \d+\.\d s left\n$/);
    await lease.release();
  });

  it('reads no more keys than its budget, and says so', async () => {
    const full = await startRedisServer();
    await full.run(async (redis) => {
      const pipeline = redis.pipeline();
      for (let i = 0; i < 20_000; i += 1) pipeline.set(`other:${i}`, 'x');
      await pipeline.exec();
    });
    const { code, stdout, stderr } = await runProgram(['list', '--url', full.url, '--budget', '2000', '--json']);
    expect([code, (JSON.parse(stdout) as { complete: boolean }).complete]).toEqual([0, false]);
    expect(stderr).toContain('The list is not complete: the search ended after 2000 keys. Raise --budget.');
    const calls = await full.run((redis) => redis.info('commandstats'));
    expect(Number(/cmdstat_scan:calls=(\d+)/.exec(calls)?.[1])).toBe(4);
    const all = await runProgram(['list', '--url', full.url, '--json']);
    expect(JSON.parse(all.stdout)).toEqual({ advisory: true, complete: true, locks: [] });
  });

  it('lists the keys of all masters of a Cluster', async () => {
    // Masters of a busy machine must not give up each other.
    const cluster = await startRedisCluster({ 'cluster-node-timeout': '20000' });
    const mine = await open({ cluster: cluster.startNodes });
    const leases = await Promise.all(Array.from({ length: 12 }, (_, i) => mine.acquire(`key-${i + 10}`)));
    const [{ server: first }] = cluster.masters;
    const { stdout } = await runProgram(['list', '--url', `redis+cluster://127.0.0.1:${first.port}`, '--json']);
    const { locks: found } = JSON.parse(stdout) as { locks: { key: string }[] };
    expect(found.map(({ key }) => key)).toEqual(leases.map(({ key }) => key));
    await Promise.all(leases.map((lease) => lease.release()));
  });
});

describe('distribute-lock release', () => {
  it('takes the lock from its holder, whose signal aborts, and the next caller gets it', async () => {
    const lease = await locks.acquire('stuck');
    const { lease: next } = await waitBehind('stuck');
    const { code, stdout } = await run('release', 'stuck', '--force', '--yes');
    expect([code, stdout]).toEqual([0, 'stuck: released\n']);
    await eventually(() => expect(lease.signal.aborted).toBe(true), LONG_MS);
    expect((await next).fencingToken).toBeGreaterThan(lease.fencingToken);
    await (await next).release();
  });

  it('ends a detached lease, says so, and the next caller gets the lock', async () => {
    const ticket = await (await locks.acquire('reserved')).detach({ ttl: '10m' });
    const { lease: next } = await waitBehind('reserved');
    const { code, stdout } = await run('release', 'reserved', '--force', '--yes');
    expect([code, stdout]).toEqual([0, 'reserved: released, and the ticket of its detached lease is useless now\n']);
    await (await next).release();
    await expect(locks.attach(ticket)).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it('prints the number of detached leases as JSON', async () => {
    await (await locks.acquire('reserved')).detach({ ttl: '10m' });
    const { stdout } = await run('release', 'reserved', '--force', '--yes', '--json');
    expect(JSON.parse(stdout)).toEqual({ key: 'reserved', released: true, detached: 1 });
  });

  it('asks on a terminal before a ticket becomes useless', async () => {
    const ticket = await (await locks.acquire('reserved')).detach({ ttl: '10m' });
    const terminal = onTerminal(['release', 'reserved', '--force']);
    await terminal.printed('The ticket of the detached lease becomes useless. Release the lock? [y/N] ');
    expect(terminal.output).not.toContain('The work of the holder');
    terminal.type('n\n');
    expect((await terminal.exited).code).toBe(1);
    expect(await locks.cancel(ticket)).toBe(true);
  });

  it('exits with 1 when the key is free', async () => {
    const { code, stdout } = await run('release', 'unused', '--force', '--yes', '--json');
    expect([code, JSON.parse(stdout)]).toEqual([1, { key: 'unused', released: false }]);
  });

  it('exits with 64 and ends nothing without --force, and without a terminal and --yes', async () => {
    const lease = await locks.acquire('kept');
    const [plain, forced] = [await run('release', 'kept', '--yes'), await run('release', 'kept', '--force')];
    expect([plain.code, forced.code]).toEqual([64, 64]);
    expect(plain.stderr).toContain('add --force.');
    expect(forced.stderr).toContain('add --yes.');
    expect(await locks.inspect('kept')).toMatchObject({ held: true });
    expect(lease.isHeld()).toBe(true);
    await lease.release();
  });

  it.each([
    ['y', true],
    ['n', false],
    ['', false],
  ])('asks on a terminal, and accepts %j: %j', async (answer, released) => {
    const lease = await locks.acquire('asked');
    const terminal = onTerminal(['release', 'asked', '--force']);
    await terminal.printed('Release the lock? [y/N] ');
    expect(terminal.output).toContain('asked: held');
    terminal.type(`${answer}\n`);
    expect((await terminal.exited).code).toBe(released ? 0 : 1);
    expect((await locks.inspect('asked')).held).toBe(!released);
    await lease.release();
  });
});

/** The program on a pseudo terminal, which `script` of Debian opens. */
class Terminal extends Child {
  constructor(
    private readonly input: NodeJS.WritableStream,
    ...args: ConstructorParameters<typeof Child>
  ) {
    super(...args);
  }

  type(text: string): void {
    this.input.write(text);
  }
}

function onTerminal(words: readonly string[]): Terminal {
  const command = [process.execPath, PROGRAM, ...words].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    env: { ...process.env, REDIS_URL: server.url },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return new Terminal(child.stdin, child);
}

describe('distribute-lock watch', () => {
  it('prints the state and each change until a signal ends it', async () => {
    const watching = Program.start(['watch', 'watched'], { REDIS_URL: server.url });
    await watching.printed('watched: free');
    const lease = await locks.acquire('watched', { name: 'Watched.work' });
    await watching.printed('Watched.work');
    const { abort } = await waitBehind('watched');
    await watching.printed('1 process waiting');
    abort();
    const ticket = await lease.detach({ ttl: '10m' });
    await watching.printed('detached, 59');
    await locks.cancel(ticket);
    await eventually(() => expect(watching.stdout).toMatch(/watched: held[^]*watched: free\n$/), LONG_MS);
    expect(await watching.kill('SIGTERM')).toMatchObject({ signal: 'SIGTERM' });
    for (const line of watching.stdout.match(/^\S.*$/gm) ?? [])
      expect(line).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z {2}watched: /);
  });

  it('prints lines of JSON, and ends with 0 after --for', async () => {
    const { code, stdout } = await run('watch', 'unused', '--json', '--for', '50ms');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ key: 'unused', held: false, at: expect.any(String) });
  });

  it('survives a restart of Redis', async () => {
    const restarted = await startRedisServer();
    const watching = Program.start(['watch', 'survivor'], { REDIS_URL: restarted.url });
    await watching.printed('survivor: free');
    await restarted.restart();
    const mine = await open(restarted.url);
    const lease = await mine.acquire('survivor', { wait: '1m' });
    await watching.printed('survivor: held');
    await lease.release();
    await watching.kill('SIGTERM');
    await mine.close();
  });
});

describe('A wrong call', () => {
  const commands = [['inspect', 'key'], ['list'], ['release', 'key', '--force', '--yes'], ['watch', 'key'], ['doctor']];

  it.each(commands)('exits with 69 and one sentence when Redis is away, for %s', async (...words) => {
    const gone = await startRedisServer();
    await gone.stop();
    // A program that pauses for longer than its limit says so instead.
    await eventually(async () => {
      const { code, stdout, stderr } = await runProgram([...words, '--url', gone.url]);
      expect(code).toBe(69);
      expect(stdout).toBe('');
      expect(stderr).toMatch(/^distribute-lock: [^\n]*ECONNREFUSED[^\n]*\.\n$/);
    }, LONG_MS);
  });

  it.each(commands)('exits with 69 for a wrong password, which it does not print, for %s', async (...words) => {
    const locked = await startRedisServer({ config: { requirepass: 'a-secret' } });
    const url = `redis://:not-the-secret@127.0.0.1:${locked.port}`;
    await eventually(async () => {
      const { code, stdout, stderr } = await runProgram([...words, '--url', url]);
      expect(stderr).not.toContain('the-secret');
      expect(code).toBe(69);
      expect(stdout).toBe('');
      expect(stderr).toMatch(/^distribute-lock: [^\n]*WRONGPASS[^\n]*\.\n$/);
    }, LONG_MS);
  });

  it.each([
    ['no key', ['inspect']],
    ['two keys', ['inspect', 'a', 'b']],
    ['an empty key', ['inspect', '']],
    ['a long key', ['inspect', 'k'.repeat(2_000)]],
    ['an unknown flag', ['list', '--all']],
    ['a budget of zero', ['list', '--budget', '0']],
    ['a budget of words', ['list', '--budget', 'much']],
    ['a time without a unit', ['watch', 'key', '--for', '5']],
    ['an empty flag', ['list', '--match', '']],
  ])('exits with 64 and one line for %s', async (_, words) => {
    const { code, stdout, stderr } = await run(...words);
    expect(code).toBe(64);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^distribute-lock: [^\n]+\.\n$/);
  });
});

describe('The documents', () => {
  const pages = ['docs/guide/shell.md', 'docs/reference/doctor.md', 'libs/cli/README.md'];
  const calls = pages.flatMap((page) => {
    const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8');
    const lines = text.match(/distribute-lock(?:@1)? (?:run|inspect|list|watch|release|doctor) [^`"\n]*/g) ?? [];
    return lines.map((line) => [page, line.replace(/ +#.*/, '').trim()] as const);
  });

  it('contain calls of each command', () => {
    expect(new Set(calls.map(([, line]) => line.split(' ')[1]))).toEqual(new Set(Object.keys(COMMANDS)));
  });

  it.each(calls)('%s: "%s" is a valid call', (_, line) => {
    const [, name, ...words] = line.match(/'[^']*'|\S+/g) ?? [];
    if (!isCommand(name)) throw new Error(`There is no command ${name}`);
    // The table shows the call without its command.
    const complete = name === 'run' && !words.includes('--') ? [...words, '--', 'true'] : words;
    expect(readCommandLine(name, complete)).toMatchObject({ name });
  });
});

describe('--version', () => {
  it('prints the version of the package', async () => {
    const file = new URL('../../libs/cli/package.json', import.meta.url);
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string };
    for (const name of ['--version', '-V']) {
      expect(await runProgram([name])).toMatchObject({ code: 0, stdout: `${version}\n` });
    }
  });
});

describe('--help', () => {
  it.each(['inspect', 'list', 'release', 'watch', 'doctor'])(
    'of %s fits on one screen and has an example',
    async (name) => {
      const { code, stdout } = await runProgram([name, '--help']);
      expect(code).toBe(0);
      const lines = stdout.trimEnd().split('\n');
      expect(lines.length).toBeLessThanOrEqual(40);
      expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
      expect(stdout).toMatch(new RegExp(`^ {2}distribute-lock ${name}`, 'm'));
    },
  );
});
