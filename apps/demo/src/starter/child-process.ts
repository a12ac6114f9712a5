import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import type { ChildReport } from '../process/parent.js';

const PATIENCE_MS = 10_000;

/** How a child is started. */
export interface ChildOptions {
  readonly env: NodeJS.ProcessEnv;
  /** A session of its own: Ctrl-C in a terminal does not reach it, it ends when its parent says so or is gone. */
  readonly apart?: boolean;
}

/** A Node process that the starter forked and will end. It reports `Ready` once, or why it failed. */
export class DemoChild<Ready> {
  readonly ready: Promise<Ready>;
  readonly exited: Promise<unknown>;

  private constructor(private readonly child: ChildProcess) {
    this.exited = once(child, 'exit');
    this.ready = new Promise((resolve, reject) => {
      child.once('message', (report: ChildReport<Ready>) => {
        if (report.type === 'ready') resolve(report.ready);
        else reject(new Error(report.message));
      });
      child.once('exit', (code, signal) => reject(new Error(`A process of the demo ended early (${signal ?? code}).`)));
      child.once('error', reject);
    });
    // Nobody waits any more when the start was given up half-way.
    this.ready.catch(() => undefined);
    this.exited.catch(() => undefined);
  }

  /** Forks one of the demo's own scripts, named relative to the built folder. */
  static start<Ready>(script: string, { env, apart = false }: ChildOptions): DemoChild<Ready> {
    const path = fileURLToPath(new URL(`../${script}`, import.meta.url));
    return new DemoChild(fork(path, { env, detached: apart }));
  }

  get running(): boolean {
    return this.child.pid !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Asks the process to end, insists after a while, and resolves when it is gone. */
  async stop(): Promise<void> {
    if (!this.running) return;
    this.child.kill('SIGTERM');
    const insist = setTimeout(() => this.child.kill('SIGKILL'), PATIENCE_MS);
    await this.exited;
    clearTimeout(insist);
  }
}
