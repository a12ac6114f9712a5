import { join } from 'node:path';

import { createLocks, type OpenedLocks } from 'nestjs-distribute-lock/core';

import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startRedisServer } from '../support/redis-server.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import {
  begun,
  ended,
  eventuallyTrue,
  isAlive,
  isGone,
  LONG_MS,
  RunProcess,
  signalOf,
  WORKING,
} from './support/run-processes.js';

import.meta.jest.setTimeout(300_000);

const HOUR_MS = 3_600_000;

describe('A flag of `run`', () => {
  let url: string;
  let folder: string;
  let observer: OpenedLocks;

  beforeAll(async () => {
    [{ url }, folder] = await Promise.all([startRedisServer(), temporaryFolder('shell-flags-')]);
    observer = await createLocks({ connection: url });
    onCleanup(() => observer.close());
  });

  const run = (...words: readonly string[]): RunProcess => RunProcess.start(url, ['run', ...words]);
  const working = (key: string, ...flags: readonly string[]): RunProcess =>
    run(key, ...flags, '--', process.execPath, WORKING, join(folder, key));

  it('--on-lost kill ends the command when the lock was taken away', async () => {
    const program = working('taken');
    await begun(join(folder, 'taken'));
    await observer.forceRelease('taken');
    expect(await program.exited).toEqual({ code: 76, signal: null });
    expect(program.output).toContain('the command is ended ("taken")');
    await ended(join(folder, 'taken'));
  });

  it('--on-lost warn lets the command continue, and its exit code is that of the command', async () => {
    const program = working('warned', '--on-lost', 'warn');
    const { pid } = await begun(join(folder, 'warned'));
    await observer.forceRelease('warned');
    await program.printed('goes on without the lock ("warned")');
    expect(isAlive(pid)).toBe(true);
    signalOf(pid, 'SIGTERM');
    expect(await program.exited).toEqual({ code: null, signal: 'SIGTERM' });
  });

  it('--min-hold keeps the key after the command', async () => {
    expect(await run('kept', '--min-hold', '1h', '--', 'true').exited).toEqual({ code: 0, signal: null });
    const { held, remainingMs } = await observer.inspect('kept');
    expect(held).toBe(true);
    expect(remainingMs).toBeGreaterThan(HOUR_MS / 2);
  });

  it('--weight takes several permits', async () => {
    const program = working('permits', '--permits', '3', '--weight', '2');
    await begun(join(folder, 'permits'));
    expect(await run('permits', '--permits', '3', '-n', '--', 'true').exited).toMatchObject({ code: 0 });
    const two = ['--permits', '3', '--weight', '2', '-n'];
    expect(await run('permits', ...two, '--', 'true').exited).toMatchObject({ code: 75 });
    await program.kill('SIGTERM');
  });

  it('--prefix separates keys, and --url replaces REDIS_URL', async () => {
    const program = RunProcess.start('redis://127.0.0.1:1', [
      'run',
      'apart',
      '--url',
      url,
      '--prefix',
      'other:',
      '--',
      'sleep',
      '60',
    ]);
    const other = await createLocks({ connection: url, prefix: 'other:' });
    onCleanup(() => other.close());
    await eventually(async () => expect(await other.inspect('apart')).toMatchObject({ held: true }), LONG_MS);
    expect(await run('apart', '-n', '--', 'true').exited).toMatchObject({ code: 0 });
    await program.kill('SIGTERM');
  });

  it('--json writes each message as one line of JSON', async () => {
    const program = run('json', '--json', '-v', '--', 'no-such-command');
    expect(await program.exited).toMatchObject({ code: 127 });
    const lines = program.output.trim().split('\n');
    const messages = lines.map((line) => JSON.parse(line) as { readonly severity: string; readonly message: string });
    expect(messages.at(-1)).toMatchObject({ severity: 'error', message: 'no-such-command: command not found' });
  });

  it('is not needed for a guard that ends during the wait: a new one replaces it', async () => {
    const lease = await observer.acquire('replaced');
    const program = working('replaced');
    const first = await program.guardPid();
    await eventually(async () => expect(await observer.inspect('replaced')).toMatchObject({ waiting: 1 }), LONG_MS);
    signalOf(first, 'SIGKILL');
    // The program has noticed the end of a process that is gone; a zombie waits for that.
    await eventuallyTrue(() => isGone(first), 'the first guard is gone');
    await lease.release();
    await begun(join(folder, 'replaced'));
    expect(await program.guardPid()).not.toBe(first);
    await program.kill('SIGTERM');
  });
});
