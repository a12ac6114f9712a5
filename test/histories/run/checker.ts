import type { ReplayReport } from '../replay/replay.js';
import { within } from '../../support/eventually.js';
import { SecondProcess, startProcess } from '../../support/second-process.js';

/** The violations of a history. */
export interface CheckReport {
  readonly count: number;
  readonly rules: readonly string[];
  /** The first violations, with the events around them. */
  readonly shown: readonly string[];
  readonly replay: ReplayReport;
}

export type ToChecker = { check: string };
export type FromChecker = { checked: { readonly folder: string; readonly report: CheckReport } };

const MOST_MS = 120_000;
const SCRIPT = new URL('./check.child.ts', import.meta.url);

/**
 * Checks histories in a separate process. The process of the spec carries the connections of other histories, and needs up to
 * 50 times as long: in it, each global name is a call into the sandbox of Jest.
 */
export class Checker {
  private readonly waiting = new Map<string, (report: CheckReport) => void>();
  private child: SecondProcess<FromChecker, ToChecker> | undefined;

  /** @param folder - the files of the events */
  check(folder: string): Promise<CheckReport> {
    const child = (this.child ??= this.start());
    const checked = new Promise<CheckReport>((resolve) => void this.waiting.set(folder, resolve));
    const ended = child.exited.then(() => Promise.reject(new Error(`The check ended early:\n${child.output}`)));
    child.send('check', folder);
    return within(MOST_MS, 'the check of a history', Promise.race([checked, ended]));
  }

  private start(): SecondProcess<FromChecker, ToChecker> {
    const child = startProcess<FromChecker, ToChecker>(SCRIPT);
    child.on('checked', ({ folder, report }) => {
      this.waiting.get(folder)?.(report);
      this.waiting.delete(folder);
    });
    return child;
  }
}
