import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { Child } from '../../support/child.js';
import { onCleanup } from '../../support/cleanup.js';
import { eventually } from '../../support/eventually.js';
import { PROGRAM } from './program.js';

export { PROGRAM };

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

export const WORKING = path('working.mjs');
export const APPEND = path('append.mjs');
export const COUNTING = path('counting.mjs');

/** A busy machine may need this long for anything. */
export const LONG_MS = 60_000;

export const eventuallyTrue = (fact: () => boolean, what: string): Promise<void> =>
  eventually(() => {
    if (!fact()) throw new Error(`It is not true that ${what}`);
  }, LONG_MS);

/** The environment of the program, without the settings of Jest. */
export function environment(url: string): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return { PATH, HOME, REDIS_URL: url };
}

/** A running `distribute-lock`, started as a shell starts it. */
export class RunProcess extends Child {
  private constructor(private readonly started: ChildProcess) {
    super(started);
  }

  static start(url: string, words: readonly string[], env: NodeJS.ProcessEnv = {}): RunProcess {
    const started = spawn(PROGRAM, words, { env: { ...environment(url), ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    return new RunProcess(started);
  }

  send(signal: NodeJS.Signals): void {
    this.started.kill(signal);
  }

  /** The guard process beside the program. */
  async guardPid(): Promise<number> {
    return eventually(() => {
      const found = childrenOf(this.pid).find((pid) => procFile(pid, 'cmdline').includes('guard.cjs'));
      if (found === undefined) throw new Error('The program has no guard process');
      onCleanup(() => void signalOf(found, 'SIGKILL'));
      return found;
    }, LONG_MS);
  }
}

/** What `working.mjs` has written. */
export interface WorkFacts {
  readonly pid: number;
  /** On the monotonic clock of the machine, in milliseconds. */
  readonly beganAt: number;
  readonly lastAt: number;
  /** The last act on the clock of the calendar, which the server uses, too. */
  readonly lastWallMs: number;
}

/** The facts of a command that has begun. */
export async function begun(file: string): Promise<WorkFacts> {
  const facts = await eventually(() => factsIn(file), LONG_MS);
  onCleanup(() => void signalOf(facts.pid, 'SIGKILL'));
  return facts;
}

/** The facts of a command that has ended. */
export async function ended(file: string): Promise<WorkFacts> {
  const { pid } = await begun(file);
  await eventuallyTrue(() => !isAlive(pid), `the command ${pid} has ended`);
  return factsIn(file);
}

const factsIn = (file: string): WorkFacts => JSON.parse(readFileSync(file, 'utf8')) as WorkFacts;

/** Whether the process runs or is stopped; a zombie does neither. */
export const isAlive = (pid: number): boolean => !['', 'Z', 'X'].includes(stateOf(pid));

/** Whether its parent has seen its end. */
export const isGone = (pid: number): boolean => stateOf(pid) === '';

export const isStopped = (pid: number): boolean => stateOf(pid) === 'T';

export function signalOf(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** The process that has started this one. */
export const wrapperOf = (pid: number): number => Number(statOf(pid)[1]);

const childrenOf = (parent: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => statOf(pid)[1] === String(parent));

const stateOf = (pid: number): string => statOf(pid)[0];

function statOf(pid: number): string[] {
  const text = procFile(pid, 'stat');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Empty when the process has ended. */
function procFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}
