import type { ChildProcess } from 'node:child_process';
import { onCleanup } from './cleanup.js';
import { guardProcess } from './process-guard.js';

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A child process that outlives neither the spec file nor this process. */
export class Child {
  readonly pid: number;
  readonly exited: Promise<ChildExit>;
  /** What it has written so far, both streams in one. */
  output = '';
  alive = true;

  constructor(private readonly child: ChildProcess) {
    if (child.pid === undefined) throw new Error(`${child.spawnfile} could not be started`);
    this.pid = child.pid;
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (this.output += String(chunk)));
    const unguard = guardProcess(this.pid);
    const forget = onCleanup(() => this.kill());
    this.exited = new Promise((resolve) => {
      // 'close' and not 'exit': by then all of its output is here
      child.once('close', (code, signal) => {
        this.alive = false;
        unguard();
        forget();
        resolve({ code, signal });
      });
    });
  }

  /** Sends `signal` and waits for the end; a stopped process is woken, or it would never see the signal. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<ChildExit> {
    if (this.alive) {
      this.child.kill(signal);
      this.child.kill('SIGCONT');
    }
    return this.exited;
  }

  /** Stops it in the middle of whatever it does; its connections stay open. */
  pause(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  /** Resolves once it has written `text`; rejects when it ends without. */
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
