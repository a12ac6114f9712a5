import type { LockCall } from './lock-call.js';

/** The nested calls of a lease that have not ended. */
export class NestedHolds {
  all = 0;
  /** Nested calls that end with a piece of work, so shutdown waits for them. */
  work = 0;
  writers = 0;

  count({ scoped, options }: LockCall, by: 1 | -1): void {
    this.all += by;
    if (scoped) this.work += by;
    if (options.kind !== 'read') this.writers += by;
  }
}
