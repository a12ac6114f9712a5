import type { Lease } from 'nestjs-distribute-lock';

import { eventually } from '../../support/eventually.js';

/** What a locked method saw when it ran. */
interface Visit {
  /** Key of the lease that `@CurrentLease()` handed in. */
  readonly key: string | undefined;
  /** Whether `LockService.current()` answered with the same lease. */
  readonly current: boolean;
}

/** The work of every locked method in these specs: a test keeps it running, lets it end, or has it fail. */
class Stage {
  readonly visits: Visit[] = [];
  failing = false;
  private opened: Promise<void> = Promise.resolve();
  private resolve: (() => void) | undefined;

  /** From now on the work lasts until `open()`. */
  close(): void {
    this.opened = new Promise((resolve) => (this.resolve = resolve));
  }

  open(): void {
    this.resolve?.();
  }

  reset(): void {
    this.open();
    this.opened = Promise.resolve();
    this.visits.length = 0;
    this.failing = false;
  }

  async play(lease: Lease | undefined, current: Lease | undefined): Promise<string> {
    this.visits.push({ key: lease?.key, current: lease !== undefined && lease === current });
    await this.opened;
    if (this.failing) throw new Error('the work failed');
    return 'done';
  }

  async entered(times: number): Promise<void> {
    await eventually(() => expect(this.visits.length).toBeGreaterThanOrEqual(times));
  }
}

/** One for each spec file. */
export const stage = new Stage();
