import type { ChildProcess } from 'node:child_process';
import { onCleanup } from './cleanup.js';
import { guardProcess } from './process-guard.js';

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A child process that ends with the spec file and with this process. */
export class Child {
  readonly pid: number;
  readonly exited: Promise<ChildExit>;
  /** The output so far, both streams combined. */
  output = '';
  alive = true;

  constructor(private readonly child: ChildProcess) {
    if (child.pid === undefined) throw new Error(`${child.spawnfile} could not be started`);
    this.pid = child.pid;
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (this.output += String(chunk)));
    const unguard = guardProcess(this.pid);
    const forget = onCleanup(() => this.kill());
    this.exited = new Promise((resolve) => {
      // on 'close' all output has arrived; on 'exit' some may be missing
      child.once('close', (code, signal) => {
        this.alive = false;
        unguard();
        forget();
        resolve({ code, signal });
      });
    });
  }

  /** Sends `signal` and waits for the end. Resumes a stopped process first, because it would not handle the signal. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<ChildExit> {
    if (this.alive) {
      this.child.kill(signal);
      this.child.kill('SIGCONT');
    }
    return this.exited;
  }

  /** Sends SIGSTOP; the connections stay open. */
  pause(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  /** Resolves once the process has written `text`; rejects when it ends before. */
  printed(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (this.output.includes(text)) resolve();
      };
      for (const stream of [this.child.stdout, this.child.stderr]) stream?.on('data', look);
      void this.exited.then(() => reject(new Error(`It ended without "${text}":\n${this.output}`)));
      look();
    });
  }
}
