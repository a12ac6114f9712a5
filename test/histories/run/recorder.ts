import { closeSync, openSync, writeSync } from 'node:fs';

import { monotonicMs } from '../../fault/support/monotonic.js';
import type { RunEvent, WorkerEvent } from '../event.js';

type WithoutTime<E> = E extends unknown ? Omit<E, 'at'> : never;

/** Appends events to a file, each before the next step, so that a killed process has left all that it did. */
export class Recorder<E extends WorkerEvent | RunEvent> {
  private readonly file: number;

  constructor(
    path: string,
    private readonly process: string,
  ) {
    this.file = openSync(path, 'a');
  }

  record(event: WithoutTime<E>, at = monotonicMs()): void {
    writeSync(this.file, `${JSON.stringify({ at, process: this.process, ...event })}\n`);
  }

  close(): void {
    closeSync(this.file);
  }
}
