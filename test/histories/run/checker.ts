import { within } from '../../support/eventually.js';
import { SecondProcess, startProcess } from '../../support/second-process.js';

/** A violation, and for the first ones the events around it. */
export interface DescribedViolation {
  readonly rule: string;
  readonly text: string;
}

export type ToChecker = { check: string };
export type FromChecker = { checked: { readonly folder: string; readonly violations: readonly DescribedViolation[] } };

const MOST_MS = 120_000;
const SCRIPT = new URL('./check.child.ts', import.meta.url);

/**
 * Checks histories in a separate process. The process of the spec carries the connections of other histories, and needs up to
 * 50 times as long: in it, each global name is a call into the sandbox of Jest.
 */
export class Checker {
  private readonly waiting = new Map<string, (violations: readonly DescribedViolation[]) => void>();
  private child: SecondProcess<FromChecker, ToChecker> | undefined;

  /** @param folder - the files of the events */
  check(folder: string): Promise<readonly DescribedViolation[]> {
    const child = (this.child ??= this.start());
    const checked = new Promise<readonly DescribedViolation[]>((resolve) => void this.waiting.set(folder, resolve));
    const ended = child.exited.then(() => Promise.reject(new Error(`The check ended early:\n${child.output}`)));
    child.send('check', folder);
    return within(MOST_MS, 'the check of a history', Promise.race([checked, ended]));
  }

  private start(): SecondProcess<FromChecker, ToChecker> {
    const child = startProcess<FromChecker, ToChecker>(SCRIPT);
    child.on('checked', ({ folder, violations }) => {
      this.waiting.get(folder)?.(violations);
      this.waiting.delete(folder);
    });
    return child;
  }
}
