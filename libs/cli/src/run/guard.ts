import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

import type { OneCommand } from '../processes.js';

/** The guard process beside the wrapper, and the lines that the wrapper sends to it. */
export class Guard {
  private readonly process: ChildProcess;
  /** Resolves when the guard reads; rejects when it cannot start or has ended. */
  readonly ready: Promise<void>;
  private expected = false;

  constructor(private readonly ended: () => void) {
    // Without the settings of Node for the user's own programs, without certificates, which the start of Node would read, and in a
    // folder that can be removed.
    const {
      NODE_OPTIONS: _options,
      NODE_V8_COVERAGE: _coverage,
      NODE_EXTRA_CA_CERTS: _certificates,
      ...env
    } = process.env;
    const guard = spawn(process.execPath, [join(__dirname, 'guard.cjs')], {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
      cwd: '/',
      env,
    });
    this.process = guard;
    guard.stdin.on('error', () => undefined);
    this.ready = new Promise((resolve, reject) => {
      guard.stdout.once('data', () => resolve());
      guard.once('error', (error) => {
        reject(error);
        this.lost();
      });
      guard.once('exit', (code, signal) => {
        reject(new Error(`it ended with ${signal ?? code}`));
        this.lost();
      });
    });
    this.ready.catch(() => undefined);
  }

  /** The command is about to start. */
  starting(graceMs: number, { leadsGroup, mark }: Omit<OneCommand, 'pid'>): void {
    this.send(`starting ${graceMs} ${leadsGroup ? 'group' : 'terminal'} ${mark}`);
  }

  watch(pid: number): void {
    this.send(`watch ${pid}`);
  }

  until(termAt: number, killAt: number): void {
    this.send(`until ${termAt} ${killAt}`);
  }

  /** The wrapper has sent TERM because of a deadline. */
  termed(): void {
    this.send('termed');
  }

  /** The command has ended: the guard ends without a signal. */
  done(): void {
    this.expected = true;
    this.send('done');
    this.process.unref();
  }

  private send(line: string): void {
    this.process.stdin?.write(`${line}\n`);
  }

  private lost(): void {
    if (!this.expected) this.ended();
  }
}
