import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';

import { monotonicMs } from '../monotonic.js';
import { type OneProcess, processesOf, sendSignal, signalEach, type OneCommand } from '../processes.js';

/** How the command ended: with a code, by a signal, or it did not start. */
export type CommandEnd =
  | { readonly how: 'code'; readonly code: number }
  | { readonly how: 'signal'; readonly signal: NodeJS.Signals }
  | { readonly how: 'not started'; readonly error: NodeJS.ErrnoException };

const LOOK_EVERY_MS = 20;
/** A process that got KILL may need this long to end. */
const KILLED_WITHIN_MS = 2_000;
/** libuv resets ignored signals of a new process, and a shell can ignore them again. */
const IGNORES_HUP = ['/bin/sh', '-c', 'trap "" HUP; exec "$@"', 'sh'];

export interface CommandSettings {
  readonly words: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Whether a standard stream is a terminal: the command shares the group of the wrapper, so that job control works. */
  readonly terminal: boolean;
  readonly ignoresHangUp: boolean;
  readonly mark: string;
}

/** The command as processes. Without a terminal it has its own group. */
export class CommandProcess {
  private readonly child: ChildProcess;
  readonly ended: Promise<CommandEnd>;

  constructor(private readonly settings: CommandSettings) {
    const { words, env, terminal, ignoresHangUp } = settings;
    const [file, ...args] = ignoresHangUp ? [...IGNORES_HUP, ...words] : words;
    this.child = spawn(file, args, { stdio: 'inherit', detached: !terminal, env });
    this.ended = new Promise((resolve) => {
      this.child.once('error', (error) => resolve({ how: 'not started', error }));
      this.child.once('exit', (code, signal) =>
        resolve(signal === null ? { how: 'code', code: code ?? 0 } : { how: 'signal', signal }),
      );
    });
  }

  /** `undefined` when the command did not start. */
  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Sends a signal as a user would: to the group, or on a terminal to the first process. */
  send(signal: NodeJS.Signals): void {
    if (this.pid !== undefined) sendSignal(this.settings.terminal ? this.pid : -this.pid, signal);
  }

  /** Sends a signal to all processes of the command. */
  sendToAll(signal: NodeJS.Signals): void {
    if (this.settings.terminal) signalEach(this.processes(), signal);
    else this.send(signal);
  }

  /**
   * After the end of the first process: ends the others, with TERM and after `graceMs` with KILL. The lock is released afterwards,
   * so that no process of the command works without it.
   */
  async endOthers(graceMs: number): Promise<void> {
    if (await this.othersEnd(0)) return;
    this.sendToAll('SIGTERM');
    this.sendToAll('SIGCONT');
    if (await this.othersEnd(graceMs)) return;
    this.sendToAll('SIGKILL');
    await this.othersEnd(KILLED_WITHIN_MS);
  }

  private async othersEnd(withinMs: number): Promise<boolean> {
    const until = monotonicMs() + withinMs;
    while (this.processes().length > 0) {
      if (monotonicMs() >= until) return false;
      await delay(LOOK_EVERY_MS);
    }
    return true;
  }

  private processes(): OneProcess[] {
    const { pid } = this;
    if (pid === undefined) return [];
    const target: OneCommand = { pid, leadsGroup: !this.settings.terminal, mark: this.settings.mark };
    return processesOf(target);
  }
}
