import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { Child } from '../../support/child.js';

/** The built program; `npm run test:shell` builds it. */
export const PROGRAM = fileURLToPath(new URL('../../../libs/cli/dist/distribute-lock.cjs', import.meta.url));

/** How a run of the program ended. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running program, which ends with the spec file at the latest. */
export class Program extends Child {
  stdout = '';
  stderr = '';

  /** The program ends when its input ends, if it reads it; `input` is all of it. */
  static start(words: readonly string[], env: NodeJS.ProcessEnv = {}, input = ''): Program {
    const child = spawn(process.execPath, [PROGRAM, ...words], {
      env: { ...process.env, REDIS_URL: '', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const program = new Program(child);
    child.stdout.on('data', (chunk) => (program.stdout += String(chunk)));
    child.stderr.on('data', (chunk) => (program.stderr += String(chunk)));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    return program;
  }

  async ended(): Promise<ProgramEnd> {
    const { code, signal } = await this.exited;
    return { code, signal, stdout: this.stdout, stderr: this.stderr };
  }
}

/** Runs the program to its end. */
export const runProgram = (words: readonly string[], env?: NodeJS.ProcessEnv): Promise<ProgramEnd> =>
  Program.start(words, env).ended();
