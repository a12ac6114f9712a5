import { readFile } from 'node:fs/promises';
import { eventually } from './eventually.js';
import { startProcess } from './second-process.js';

const SCRIPT = new URL('./second-process.child.ts', import.meta.url);
type Received = { ready: { pid: number; greeting: string }; answer: string; started: number };
type Sent = { question: string; start: undefined };

describe('startProcess', () => {
  it('runs TypeScript in another process and exchanges messages with it', async () => {
    const child = startProcess<Received, Sent>(SCRIPT, { GREETING: 'hello' });

    const ready = await child.once('ready');
    child.send('question', 'who are you?');

    expect(ready).toEqual({ pid: child.pid, greeting: 'hello' });
    expect(await child.once('answer')).toBe('WHO ARE YOU?');
    expect(child.pid).not.toBe(process.pid);
  });

  it('keeps messages that arrive before a listener', async () => {
    const child = startProcess<Received, Sent>(SCRIPT);
    await eventually(() => expect(child.output).toContain('said ready'), 15_000);

    expect((await child.once('ready')).pid).toBe(child.pid);
  });

  it('rejects with the end of the process instead of waiting for a message that never comes', async () => {
    const child = startProcess<Received, Sent>(SCRIPT);
    await child.once('ready');

    const answer = expect(child.once('answer')).rejects.toThrow('SIGKILL');

    expect(await child.kill()).toEqual({ code: null, signal: 'SIGKILL' });
    await answer;
  });

  it('ends a stopped process by SIGTERM too', async () => {
    const child = startProcess<Received, Sent>(SCRIPT);
    await child.once('ready');

    child.pause();

    expect(await child.kill('SIGTERM')).toEqual({ code: null, signal: 'SIGTERM' });
  });

  it('leaves no process behind when the process that started it is killed, also when the child is stopped', async () => {
    const child = startProcess<Received, Sent>(SCRIPT);
    await child.once('ready');
    child.send('start', undefined);
    const grandchild = await child.once('started');

    await child.kill('SIGKILL');

    await eventually(async () => expect(await isGone(grandchild)).toBe(true));
  });
});

/** Whether the process is gone or a zombie: a container may have no init process that reaps orphans. */
async function isGone(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return true;
  }
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat.includes(') Z ');
}
