import { readFileSync } from 'node:fs';
import { constants } from 'node:os';

import type { CommandEnd, CommandProcess } from './command-process.js';

const FORWARDED = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
const FATAL: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'];
/** The terminal sends these to the whole foreground group, so the command has got them already. */
const TYPED: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];
/** The program ends by the signal itself only if that writes no core dump. */
const RAISED: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGPIPE', 'SIGALRM'];
/** Longer than a signal to the own process takes. */
const RAISED_WITHIN_MS = 1_000;

export const codeOfSignal = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];

/** Receives the signals of the program: ends the wait, or forwards them to the command. */
export class Signals {
  private command: CommandProcess | undefined;
  /** Aborts the wait. */
  readonly wait = new AbortController();
  /** The first signal that asks the program to end. */
  received: NodeJS.Signals | undefined;

  constructor(
    private readonly terminal: boolean,
    ignoresHangUp: boolean,
  ) {
    for (const name of FORWARDED) {
      if (name === 'SIGHUP' && ignoresHangUp) process.on(name, () => undefined);
      else process.on(name, () => this.forward(name));
    }
    // On a terminal, the terminal stops the whole group.
    if (!terminal) process.on('SIGTSTP', () => this.pause());
    process.on('SIGCONT', () => this.resume());
  }

  /** From now on signals are forwarded. */
  forwardTo(command: CommandProcess): void {
    this.command = command;
  }

  /** Whether the end of the command came from a signal, so that the rest of its processes must end, too. */
  endsOthers(end: CommandEnd): boolean {
    if (end.how === 'signal') return true;
    const { received } = this;
    if (end.how === 'not started' || received === undefined || !FATAL.includes(received)) return false;
    // A command that reads lines handles Ctrl-C, and ends later without a reason to end others.
    return received !== 'SIGINT' || end.code === codeOfSignal('SIGINT');
  }

  private forward(name: NodeJS.Signals): void {
    if (this.received === undefined || !FATAL.includes(this.received)) this.received = name;
    if (this.command === undefined) return this.wait.abort();
    if (!(this.terminal && TYPED.includes(name) && inForeground())) this.command.send(name);
  }

  private pause(): void {
    this.command?.send('SIGSTOP');
    process.kill(process.pid, 'SIGSTOP');
  }

  private resume(): void {
    if (!this.terminal) this.command?.send('SIGCONT');
  }
}

/** Whether the own group is in the foreground of its terminal. Without an answer it is. */
function inForeground(): boolean {
  try {
    const text = readFileSync('/proc/self/stat', 'latin1');
    const [, , group, , , foreground] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return group === foreground;
  } catch {
    return true;
  }
}

/**
 * Ends the program by the signal, so that a shell sees what happened. Process 1 and SIGQUIT get the exit code: the kernel
 * protects the one, and the other writes a core dump.
 */
export async function endBy(signal: NodeJS.Signals): Promise<number> {
  const code = codeOfSignal(signal);
  if (process.pid === 1 || !RAISED.includes(signal)) return code;
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  return new Promise((resolve) => void setTimeout(() => resolve(code), RAISED_WITHIN_MS));
}
