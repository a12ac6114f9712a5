import { closeSync, openSync, writeSync } from 'node:fs';

import { monotonicMs } from '../../support/monotonic.js';
import type { RunEvent, WorkerEvent } from '../event.js';

type WithoutTime<E> = E extends unknown ? Omit<E, 'at'> : never;

/** Appends each event to a file before the next step, so that the record of a killed process is complete. */
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
