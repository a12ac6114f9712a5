import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import type { ChildReport } from '../process/parent.js';

const PATIENCE_MS = 10_000;

export interface ChildOptions {
  readonly env: NodeJS.ProcessEnv;
  /**
   * Starts a separate session: Ctrl-C in a terminal does not reach the child, which ends with its parent or at its
   * request.
   */
  readonly apart?: boolean;
}

/** A Node process that the starter forks and ends. It reports `Ready` once, or why it failed. */
export class DemoChild<Ready> {
  readonly ready: Promise<Ready>;
  readonly exited: Promise<unknown>;

  private constructor(private readonly child: ChildProcess) {
    this.exited = once(child, 'exit');
    this.ready = new Promise((resolve, reject) => {
      child.on('message', (report: ChildReport<Ready>) => {
        if (report.type === 'ready') resolve(report.ready);
        else if (report.type === 'failed') reject(new Error(report.message));
      });
      child.once('exit', (code, signal) => reject(new Error(`A process of the demo ended early (${signal ?? code}).`)));
      child.once('error', reject);
    });
    // No caller waits when the start was cancelled.
    this.ready.catch(() => undefined);
    this.exited.catch(() => undefined);
  }

  /** Forks a script of the demo; its name is relative to the built folder. */
  static start<Ready>(script: string, { env, apart = false }: ChildOptions): DemoChild<Ready> {
    const path = fileURLToPath(new URL(`../${script}`, import.meta.url));
    return new DemoChild(fork(path, { env, detached: apart }));
  }

  /** Calls `receive` with every message. */
  listen(receive: (message: unknown) => void): void {
    this.child.on('message', receive);
  }

  send(message: object): void {
    if (this.child.connected) this.child.send(message, () => undefined);
  }

  /** Ends the process as a crash does: it releases nothing. */
  async crash(): Promise<void> {
    if (!this.running) return;
    this.child.kill('SIGKILL');
    await this.exited;
  }

  get running(): boolean {
    return this.child.pid !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Asks the process to end, kills it after a time limit, and resolves when it is gone. */
  async stop(): Promise<void> {
    if (!this.running) return;
    this.child.kill('SIGTERM');
    const insist = setTimeout(() => this.child.kill('SIGKILL'), PATIENCE_MS);
    await this.exited;
    clearTimeout(insist);
  }
}
