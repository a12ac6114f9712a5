import { spawn } from 'node:child_process';

import { Child } from '../../support/child.js';
import { eventuallyTrue, environment, PROGRAM } from './run-processes.js';

const INTERACTIVE = 'exec bash --norc --noprofile -i';

/** An interactive shell on a pseudo terminal, which `script` of util-linux makes. Keys are typed into it. */
export class Terminal extends Child {
  private constructor(
    shell: ReturnType<typeof spawn>,
    private readonly keys: NodeJS.WritableStream,
  ) {
    super(shell);
  }

  static async open(url: string): Promise<Terminal> {
    const env = {
      ...environment(url),
      P: PROGRAM,
      PS1: 'ready> ',
      TERM: 'dumb',
      SHELL: '/bin/sh',
      NODE: process.execPath,
    };
    const words = ['--quiet', '--flush', '--return', '--command', INTERACTIVE, '/dev/null'];
    const shell = spawn('script', words, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    const terminal = new Terminal(shell, shell.stdin);
    await terminal.shown('ready> ');
    // The text that is typed is not shown again, so that the output contains results only.
    await terminal.enter('stty -echo; bind "set enable-bracketed-paste off" 2>/dev/null; echo beg""un');
    await terminal.shown('begun');
    return terminal;
  }

  /** Types a line. */
  async enter(line: string): Promise<void> {
    this.type(`${line}\n`);
  }

  type(keys: string): void {
    this.keys.write(keys);
  }

  shown(text: string): Promise<void> {
    return eventuallyTrue(() => this.output.includes(text), `the terminal shows "${text}":\n${this.output}`);
  }
}

export const CTRL_C = '\u0003';
export const CTRL_Z = '\u001A';
