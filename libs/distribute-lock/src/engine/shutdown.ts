import { Deadline } from '../runtime/timers.js';
import type { EngineContext } from './context.js';
import type { KeptKeys } from './kept-leases.js';
import type { KeyStates } from './key-states.js';

/** How long shutdown waits for releases that are in flight at the end. */
const LAST_RELEASES_MS = 500;

/** Calls that hold a lock at the start of a drain, or at its end. */
export interface DrainState {
  readonly held: readonly { readonly name: string; readonly heldMs: number }[];
  readonly over: boolean;
}

/** Receives the state at the start and at the end of a drain, if a lock is held. */
export type DrainReport = (state: DrainState) => void;

/** Shutdown of the lock engine. It never releases a lock whose work is still running. */
export class Shutdown {
  private empty: (() => void) | undefined;
  private ending: Promise<void> | undefined;

  /** @param attaches - whether a lease of another process may still come to this one */
  constructor(
    private readonly context: EngineContext,
    private readonly states: KeyStates,
    private readonly keptKeys: KeptKeys,
    private readonly attaches: () => boolean,
  ) {}

  /** Waits for holders, then ends leases from `acquire()`. Work that is still running keeps its lease. */
  drain(timeoutMs: number, report: DrainReport): Promise<void> {
    return (this.ending ??= this.end(timeoutMs, report));
  }

  private async end(timeoutMs: number, report: DrainReport): Promise<void> {
    this.keptKeys.leaveAll();
    this.report(report, false);
    await this.quiet(timeoutMs);
    for (const state of this.states.all()) for (const { holder } of state.grants()) holder?.shutDown();
    await this.quiet(LAST_RELEASES_MS);
    this.report(report, true);
  }

  private report(report: DrainReport, over: boolean): void {
    const now = this.context.clock.now();
    const holds = this.states.all().flatMap((state) => state.grants().flatMap(({ holder }) => holder?.holds ?? []));
    const held = holds.map(({ name, startedAt }) => ({ name, heldMs: Math.max(0, now - startedAt) }));
    if (held.length === 0) return;
    try {
      report({ held, over });
    } catch {
      // A log that fails must not prevent the drain.
    }
  }

  /** Checks whether the drain is complete, after the state of a key or an undo has ended. */
  look(): void {
    if (this.empty !== undefined && this.isQuiet()) this.empty();
  }

  private isQuiet(): boolean {
    const isEmpty = this.states.empty && this.context.abandoned.size === 0;
    return isEmpty && !this.keptKeys.isBusy && !this.attaches();
  }

  private quiet(timeoutMs: number): Promise<void> {
    if (this.isQuiet()) return Promise.resolve();
    return new Promise((resolve) => {
      const deadline = new Deadline(() => this.empty?.());
      this.empty = () => {
        this.context.timers.remove(deadline);
        this.empty = undefined;
        resolve();
      };
      this.context.timers.add(deadline, timeoutMs);
    });
  }
}
