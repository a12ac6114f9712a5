import type { Lease } from 'nestjs-distribute-lock';

import { eventually } from '../../support/eventually.js';

/** The observations of a locked method. */
interface Visit {
  /** Key of the lease from `@CurrentLease()`. */
  readonly key: string | undefined;
  /** Whether `LockService.current()` returned the same lease. */
  readonly current: boolean;
}

/** The work of every locked method in these specs. A test lets it run, end, or fail. */
class Stage {
  readonly visits: Visit[] = [];
  failing = false;
  private opened: Promise<void> = Promise.resolve();
  private resolve: (() => void) | undefined;

  /** Makes work last until `open()`. */
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

/** Shared by all methods of a spec file. */
export const stage = new Stage();
