import { spawn } from 'node:child_process';
import { join } from 'node:path';

import { createLocks, type OpenedLocks } from 'nestjs-distribute-lock/core';

import { Child } from '../support/child.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startRedisServer } from '../support/redis-server.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import {
  begun,
  COUNTING,
  environment,
  eventuallyTrue,
  isAlive,
  isStopped,
  LONG_MS,
  RunProcess,
  PROGRAM,
  signalOf,
  WORKING,
} from './support/run-processes.js';
import { rounds } from './support/rounds.js';

import.meta.jest.setTimeout(600_000);

const FATAL = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

describe('A signal to `run`', () => {
  let url: string;
  let folder: string;
  let observer: OpenedLocks;
  let keys = 0;

  beforeAll(async () => {
    [{ url }, folder] = await Promise.all([startRedisServer(), temporaryFolder('shell-signals-')]);
    observer = await createLocks({ connection: url });
    onCleanup(() => observer.close());
  });

  const newKey = (): string => `key-${(keys += 1)}`;
  const start = (key: string, words: readonly string[], flags: readonly string[] = []): RunProcess =>
    RunProcess.start(url, ['run', key, ...flags, '--', ...words]);
  const waiting = (key: string, count: number): Promise<void> =>
    eventually(async () => expect(await observer.inspect(key)).toMatchObject({ waiting: count }), LONG_MS);
  const free = (key: string): Promise<void> =>
    eventually(async () => expect(await observer.inspect(key)).toMatchObject({ held: false }), LONG_MS);

  it.each(FATAL)('leaves the queue while it waits, and ends it by %s', (signal) =>
    rounds(async () => {
      const key = newKey();
      const lease = await observer.acquire(key);
      const program = start(key, ['true']);
      await waiting(key, 1);
      program.send(signal);
      expect(await program.exited).toEqual({ code: null, signal });
      await waiting(key, 0);
      await lease.release();
    }),
  );

  it.each(FATAL)('ends the whole group, frees the key and ends it by %s', (signal) =>
    rounds(async (number) => {
      const key = newKey();
      const files = ['a', 'b'].map((name) => join(folder, `${key}-${name}`));
      // The second process ignores TERM in every second round, and outlives the shell.
      const ignores = number % 2 === 1 ? ' --ignore-term' : '';
      const [one, two] = files.map((file) => `'${process.execPath}' '${WORKING}' '${file}'`);
      const text = `${one} & ${two}${ignores} & wait`;
      const program = start(key, ['sh', '-c', text], ['--kill-after', '1s']);
      const started = await Promise.all(files.map(begun));
      program.send(signal);
      expect(await program.exited).toEqual({ code: null, signal });
      expect(started.map(({ pid }) => isAlive(pid))).toEqual(started.map(() => false));
      await free(key);
    }),
  );

  it('gives the shell 128 + n', async () => {
    const text = '"$P" run k -- sh -c "kill -TERM \\$PPID; sleep 100"; echo code $?';
    const shell = new Child(
      spawn('sh', ['-c', text], { env: { ...environment(url), P: PROGRAM }, stdio: ['ignore', 'pipe', 'pipe'] }),
    );
    await shell.exited;
    expect(shell.output).toContain('code 143');
  });

  it('ends it with exit code 131 after QUIT, without a core dump', async () => {
    const key = newKey();
    const file = join(folder, key);
    const program = start(key, [process.execPath, WORKING, file]);
    await begun(file);
    program.send('SIGQUIT');
    expect(await program.exited).toEqual({ code: 131, signal: null });
  });

  it('is forwarded each time', async () => {
    const program = start(newKey(), [process.execPath, COUNTING]);
    await program.printed('counting');
    for (const name of ['SIGUSR1', 'SIGUSR2', 'SIGINT', 'SIGTERM'] as const) {
      program.send(name);
      await program.printed(`${name} 1`);
    }
    program.send('SIGUSR1');
    await program.printed('SIGUSR1 2');
    program.send('SIGTERM');
    expect(await program.exited).toEqual({ code: 3, signal: null });
    expect(program.output).toContain('SIGTERM 2');
  });

  it('is not HUP when nohup has set HUP to ignored', async () => {
    const key = newKey();
    const file = join(folder, key);
    const started = spawn(
      'nohup',
      [
        PROGRAM,
        'run',
        key,
        '--',
        'sh',
        '-c',
        `echo shell $$; '${process.execPath}' '${WORKING}' '${file}'; echo after`,
      ],
      { env: environment(url), stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const program = new Child(started);
    const { pid } = await begun(file);
    const shell = Number(/shell (\d+)/.exec(program.output)?.[1]);
    for (const one of [program.pid, shell]) signalOf(one, 'SIGHUP');
    // The shell has handled the signal before it prints.
    signalOf(pid, 'SIGKILL');
    await program.printed('after');
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });

  it('stops and continues the group of a command without a terminal', async () => {
    const key = newKey();
    const file = join(folder, key);
    const program = start(key, [process.execPath, WORKING, file]);
    const { pid } = await begun(file);
    program.send('SIGTSTP');
    await eventuallyTrue(() => isStopped(pid) && isStopped(program.pid), 'both have stopped');
    program.send('SIGCONT');
    await eventuallyTrue(() => !isStopped(pid) && !isStopped(program.pid), 'both work again');
    program.send('SIGTERM');
    expect(await program.exited).toEqual({ code: null, signal: 'SIGTERM' });
  });
});
