import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { createLocks } from 'nestjs-distribute-lock/core';

import { Child } from '../support/child.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { environment, LONG_MS, RunProcess, PROGRAM } from './support/run-processes.js';

import.meta.jest.setTimeout(300_000);

const MEGABYTE = 1_000_000;
const HUNDRED = 100;

describe('`run`', () => {
  let redis: RedisServer;
  let folder: string;

  beforeAll(async () => {
    [redis, folder] = await Promise.all([startRedisServer(), temporaryFolder('shell-exit-codes-')]);
  });

  const run = (words: readonly string[], env: NodeJS.ProcessEnv = {}): RunProcess =>
    RunProcess.start(redis.url, ['run', ...words], env);
  const codeOf = async (words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<unknown> => {
    const program = run(words, env);
    const { code, signal } = await program.exited;
    return { code: signal ?? code, output: program.output };
  };

  it('ends with the code of the command', async () => {
    expect(await codeOf(['k', '--', 'sh', '-c', 'exit 7'])).toEqual({ code: 7, output: '' });
    expect(await codeOf(['k', '--', 'true'])).toEqual({ code: 0, output: '' });
  });

  it('ends with 139 when SEGV ended the command', async () => {
    expect(await codeOf(['k', '--', 'sh', '-c', 'kill -SEGV $$'])).toEqual({ code: 139, output: '' });
  });

  it('ends by the signal that ended the command', async () => {
    expect(await codeOf(['k', '--', 'sh', '-c', 'kill -TERM $$'])).toEqual({ code: 'SIGTERM', output: '' });
  });

  it('ends with 127 without such a command, and with 126 when it is not executable', async () => {
    const file = join(folder, 'plain.txt');
    await writeFile(file, 'text');
    await chmod(file, 0o644);
    const missing = { code: 127, output: expect.stringContaining('no-such-command: command not found') };
    expect(await codeOf(['k', '--', 'no-such-command'])).toEqual(missing);
    expect(await codeOf(['k', '--', file])).toEqual({
      code: 126,
      output: expect.stringContaining('cannot be executed'),
    });
  });

  it('ends with 75 when the lock is held, or with the code of -E, or with 0', async () => {
    const locks = await createLocks({ connection: redis.url });
    onCleanup(() => locks.close());
    await locks.withLock('held', async () => {
      const held = expect.stringContaining('the lock "held" is held');
      expect(await codeOf(['held', '-n', '--', 'true'])).toEqual({ code: 75, output: held });
      expect(await codeOf(['held', '-w', '100ms', '--', 'true'])).toEqual({ code: 75, output: held });
      expect(await codeOf(['held', '-n', '-q', '--', 'true'])).toEqual({ code: 75, output: '' });
      expect(await codeOf(['held', '-n', '-E', '9', '--', 'true'])).toEqual({ code: 9, output: held });
      expect(await codeOf(['held', '-n', '--skip-ok', '--', 'true'])).toEqual({ code: 0, output: '' });
    });
  });

  it('ends with 69 and the reason when Redis refuses the connection', async () => {
    const REDIS_URL = `redis://127.0.0.1:${await freePort()}`;
    const refused = { code: 69, output: expect.stringContaining('ECONNREFUSED') };
    expect(await codeOf(['k', '--', 'true'], { REDIS_URL })).toEqual(refused);
  });

  it('ends with 69 and the reason when the password is wrong', async () => {
    const server = await startRedisServer({ config: { requirepass: 'right' } });
    const REDIS_URL = server.url.replace(':right@', ':wrong@');
    const { code, output } = (await codeOf(['k', '--', 'true'], { REDIS_URL })) as { code: number; output: string };
    expect(code).toBe(69);
    expect(output).toContain('WRONGPASS');
    expect(output).not.toContain(':wrong@');
  });

  it('ends with 69 and the reason when Redis does not respond', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onCleanup(() => void silent.close());
    const { port } = silent.address() as { port: number };
    const REDIS_URL = `redis://127.0.0.1:${port}`;
    const unreachable = { code: 69, output: expect.stringContaining('did not respond') };
    expect(await codeOf(['k', '--', 'true'], { REDIS_URL })).toEqual(unreachable);
  });

  it('ends a wait with 69 when Redis does not respond for 30 s', async () => {
    const server = await startRedisServer();
    const locks = await createLocks({ connection: server.url, log: { debug() {}, log() {}, warn() {} } });
    onCleanup(() => locks.close());
    await locks.acquire('outage');
    const program = RunProcess.start(server.url, ['run', 'outage', '--', 'true']);
    await eventually(async () => expect(await locks.inspect('outage')).toMatchObject({ waiting: 1 }), LONG_MS);
    server.pause();
    expect(await program.exited).toEqual({ code: 69, signal: null });
    expect(program.output).toContain('Redis was not reachable for 30 s');
    server.resume();
  });

  it.each([
    [['k'], 'No command'],
    [['k', '--'], 'No command'],
    [['--', 'true'], 'needs a key'],
    [['k', 'x', '--', 'true'], 'one operand too many'],
    [['k', '--wat', '--', 'true'], "Unknown option '--wat'"],
    [['k', '-w', '5', '--', 'true'], '--wait is "5"'],
    [['k', '-E', '256', '--', 'true'], '--held-code is "256"'],
    [['k', '--on-lost', 'x', '--', 'true'], 'kill or warn'],
    [['k', '--ttl', '5s', '--', 'true'], '--ttl is 5000 ms'],
    [['k', '-n', '-w', '1s', '--', 'true'], 'exclude each other'],
    [['k', '-s', '--permits', '2', '--', 'true'], 'exclude each other'],
    [['k', '--weight', '2', '--', 'true'], 'needs --permits'],
    [['k', '--min-hold', '2s', '--max-hold', '1s', '--', 'true'], 'is longer than'],
    [['k', '--permits', '2', '--weight', '3', '--', 'true'], 'weight'],
    [['', '--', 'true'], 'key'],
  ])('ends with 64 for the command line %j', async (words, reason) => {
    expect(await codeOf(words)).toEqual({ code: 64, output: expect.stringContaining(reason) });
  });

  it('ends with 64 without a server, and for an unknown command', async () => {
    expect(await codeOf(['k', '--', 'true'], { REDIS_URL: '' })).toMatchObject({ code: 64 });
    expect(await RunProcess.start(redis.url, ['wat']).exited).toMatchObject({ code: 64 });
    expect(await RunProcess.start(redis.url, []).exited).toMatchObject({ code: 64 });
  });

  it('passes key, fencing token and ttl to the command, also a key that is not ASCII', async () => {
    const text = 'echo "$DISTRIBUTE_LOCK_KEY|$DISTRIBUTE_LOCK_FENCING_TOKEN|$DISTRIBUTE_LOCK_TTL_MS"';
    const program = run(['schlüssel-鍵', '--ttl', '40s', '--', 'sh', '-c', text]);
    expect(await program.exited).toMatchObject({ code: 0 });
    expect(program.output).toMatch(/^schlüssel-鍵\|\d+\|40000\n$/);
  });

  it('passes variables with unusual names, and no variable of its start', async () => {
    const text =
      "console.log(process.env['INPUT_NODE-VERSION'], Object.keys(process.env).filter((n) => n.startsWith('DIS')).sort().join())";
    const program = run(['k', '--', process.execPath, '-e', text], { 'INPUT_NODE-VERSION': '20\n=x' });
    expect(await program.exited).toMatchObject({ code: 0 });
    const own = ['FENCING_TOKEN', 'KEY', 'RUN', 'TTL_MS'].map((name) => `DISTRIBUTE_LOCK_${name}`);
    expect(program.output).toBe(`20\n=x ${own.join()}\n`);
  });

  it('passes NODE_EXTRA_CA_CERTS to the command, and to Node only for a connection with TLS', async () => {
    const env = { NODE_EXTRA_CA_CERTS: '/no/such.pem' };
    const program = run(['k', '--', 'sh', '-c', 'echo "$NODE_EXTRA_CA_CERTS"'], env);
    expect(await program.exited).toMatchObject({ code: 0 });
    expect(program.output).toBe('/no/such.pem\n');

    const bin = await temporaryFolder('shell-node-');
    await writeFile(join(bin, 'node'), '#!/bin/sh\necho "Node gets: $NODE_EXTRA_CA_CERTS"\n', { mode: 0o755 });
    const startsWith = async (url: string): Promise<string> => {
      const started = run(['k', '--url', url, '--', 'true'], { ...env, PATH: `${bin}:${process.env['PATH']}` });
      await started.exited;
      return started.output;
    };
    expect(await startsWith('redis://127.0.0.1:1')).toBe('Node gets: \n');
    expect(await startsWith('rediss+sentinel://127.0.0.1:1/main')).toBe('Node gets: /no/such.pem\n');
  });

  it('passes the standard streams through, and closes them', async () => {
    const shell = (text: string): Child =>
      new Child(
        spawn('sh', ['-c', text], {
          env: { ...environment(redis.url), P: PROGRAM },
          stdio: ['ignore', 'pipe', 'pipe'],
        }),
      );
    const echo = shell('echo x | "$P" run k -- cat');
    expect(await echo.exited).toMatchObject({ code: 0 });
    expect(echo.output).toBe('x\n');
    const separate = shell('"$P" run k -- sh -c "echo out; echo err >&2" 2>/dev/null');
    expect([await separate.exited, separate.output]).toEqual([{ code: 0, signal: null }, 'out\n']);
    // `yes` ends because its reader has gone.
    const head = shell('"$P" run k -- yes | head -n 1');
    expect([await head.exited, head.output]).toEqual([{ code: 0, signal: null }, 'y\n']);
  });

  it('passes 100 MB through a pipe', async () => {
    const child = spawn(PROGRAM, ['run', 'k', '--', 'cat'], {
      env: environment(redis.url),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const received = createHash('sha256');
    const sent = createHash('sha256');
    let bytes = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      received.update(chunk);
    });
    const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
    for (let number = 0; number < HUNDRED; number += 1) {
      const chunk = Buffer.alloc(MEGABYTE, number);
      sent.update(chunk);
      if (!child.stdin.write(chunk)) await new Promise<void>((resolve) => child.stdin.once('drain', resolve));
    }
    child.stdin.end();
    expect(await closed).toBe(0);
    expect(bytes).toBe(HUNDRED * MEGABYTE);
    expect(received.digest('hex')).toBe(sent.digest('hex'));
  });
});
