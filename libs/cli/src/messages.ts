import { writeSync } from 'node:fs';

import type { SharedValues } from './parse.js';

const STDOUT = 1;
const STDERR = 2;

/** What a message is: `debug` needs `-v`, and `-q` leaves only `error`. */
export type Severity = 'error' | 'warn' | 'info' | 'debug';

/** Writes the lines of the program itself: results to standard output, messages to standard error. */
export class Messages {
  constructor(private readonly values: Pick<SharedValues, 'json' | 'quiet' | 'verbose'>) {}

  /**
   * A result: a line of text, or JSON with `--json`.
   * @returns whether a reader is left
   */
  result(text: string, data: object): boolean {
    return write(STDOUT, this.values.json === true ? JSON.stringify(data) : text);
  }

  /** A message: a line of text, or with `--json` a line of JSON with further `facts`. */
  say(severity: Severity, text: string, facts: object = {}): void {
    if (!this.shows(severity)) return;
    write(
      STDERR,
      this.values.json === true ? JSON.stringify({ severity, message: text, ...facts }) : `distribute-lock: ${text}`,
    );
  }

  private shows(severity: Severity): boolean {
    if (severity === 'error') return true;
    if (this.values.quiet === true) return false;
    return severity !== 'debug' || this.values.verbose === true;
  }
}

/** Synchronous, so that no line is lost when the process ends. A reader that has gone is no reason to fail. */
function write(descriptor: number, line: string): boolean {
  const bytes = Buffer.from(`${line}\n`);
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      // The pipe is full, and its reader slow.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return false;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
  return true;
}

/** A name for a line of text: a key may contain characters that move the cursor of the terminal. */
export const printable = (text: string): string =>
  text.replaceAll(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1));
