import { join } from 'node:path';

import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import {
  begun,
  COUNTING,
  ended,
  eventuallyTrue,
  isStopped,
  RunProcess,
  signalOf,
  wrapperOf,
  WORKING,
} from './support/run-processes.js';
import { rounds } from './support/rounds.js';
import { CTRL_C, CTRL_Z, Terminal } from './support/terminal.js';

import.meta.jest.setTimeout(600_000);

describe('A command of `run` on a terminal', () => {
  let redis: RedisServer;
  let folder: string;
  let files = 0;

  beforeAll(async () => {
    [redis, folder] = await Promise.all([startRedisServer(), temporaryFolder('shell-terminal-')]);
  });

  const newFile = (): string => join(folder, `file-${(files += 1)}`);
  const open = (): Promise<Terminal> => Terminal.open(redis.url);

  it('reads what is typed', async () => {
    const terminal = await open();
    await terminal.enter(`"$P" run k -- sh -c 'echo asks; read line; echo "got: $line"'; echo code "$?"`);
    await terminal.shown('asks');
    await terminal.enter('hello');
    await terminal.shown('got: hello');
    await terminal.shown('code 0');
    await terminal.kill();
  });

  it('gets Ctrl-C once', async () => {
    const terminal = await open();
    await terminal.enter(`"$P" run k2 -- "$NODE" '${COUNTING}'; echo code "$?"`);
    await terminal.shown('counting');
    terminal.type(CTRL_C);
    await terminal.shown('SIGINT 1');
    const pid = Number(/counting (\d+)/.exec(terminal.output)?.[1]);
    for (const number of [1, 2]) {
      signalOf(wrapperOf(pid), 'SIGTERM');
      await terminal.shown(`SIGTERM ${number}`);
    }
    await terminal.shown('code 3');
    expect(terminal.output).not.toContain('SIGINT 2');
    await terminal.kill();
  });

  it('is ended by Ctrl-C, and the shell sees the signal', async () => {
    const terminal = await open();
    const file = newFile();
    await terminal.enter(`"$P" run k3 -- "$NODE" '${WORKING}' '${file}'`);
    await begun(file);
    terminal.type(CTRL_C);
    await ended(file);
    await terminal.enter('echo code "$?"');
    await terminal.shown('code 130');
    await terminal.kill();
  });

  it('leaves the queue by Ctrl-C', async () => {
    const terminal = await open();
    const file = newFile();
    const holder = RunProcess.start(redis.url, ['run', 'k4', '--', process.execPath, WORKING, file]);
    await begun(file);
    await terminal.enter('"$P" run k4 -v -- true');
    await terminal.shown('requests the lock');
    terminal.type(CTRL_C);
    await terminal.enter('echo code "$?"');
    await terminal.shown('code 130');
    await Promise.all([terminal.kill(), holder.kill('SIGTERM')]);
  });

  it('stops by Ctrl-Z and continues by fg', async () => {
    const terminal = await open();
    const file = newFile();
    await terminal.enter(`"$P" run k5 --ttl 5m -- "$NODE" '${WORKING}' '${file}'`);
    const { pid } = await begun(file);
    const wrapper = wrapperOf(pid);
    terminal.type(CTRL_Z);
    await eventuallyTrue(() => isStopped(pid) && isStopped(wrapper), 'both have stopped');
    await terminal.shown('Stopped');
    await terminal.enter('fg');
    await eventuallyTrue(() => !isStopped(pid) && !isStopped(wrapper), 'both work again');
    signalOf(wrapper, 'SIGTERM');
    await ended(file);
    await terminal.enter('echo code "$?"');
    await terminal.shown('code 143');
    await terminal.kill();
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'has ended with all processes before another holder begins, after %s',
    (signal) =>
      rounds(async (number) => {
        const terminal = await open();
        const [first, second] = [newFile(), newFile()];
        const key = `${signal}-${number}`;
        const times = '--ttl 8s --kill-after 2s';
        const grandchild = `"$NODE" '${WORKING}' '${first}' --ignore-term`;
        await terminal.enter(
          `"$P" run ${key} ${times} -- sh -c '${grandchild.replaceAll("'", '"')} & echo shell $$; wait'`,
        );
        const { pid } = await begun(first);
        await terminal.shown('shell ');
        const shell = Number(/shell (\d+)/.exec(terminal.output)?.[1]);
        const words = ['run', key, '-v', ...times.split(' '), '--', process.execPath, WORKING, second];
        const follower = RunProcess.start(redis.url, words);
        await follower.printed('requests the lock');
        signalOf(wrapperOf(shell), signal);
        const after = await begun(second);
        const { pid: same, lastAt } = await ended(first);
        expect(same).toBe(pid);
        expect(lastAt).toBeLessThan(after.beganAt);
        await Promise.all([terminal.kill(), follower.kill('SIGTERM')]);
      }),
  );
});
