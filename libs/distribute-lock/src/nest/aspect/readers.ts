import { LockUsageError } from '../../errors.js';
import type { Hold } from './hold.js';

/**
 * Those who read what a method returned. The lock was taken once, for the call: the last reader to leave gives it back, and
 * whoever comes later is refused, because the work would run unlocked.
 */
export class Readers {
  private count = 0;
  private readonly begun: () => void;

  constructor(private readonly hold: Hold) {
    this.begun = hold.releaseUnlessRead();
  }

  /** @throws LockUsageError when the lock has been given back */
  checkInTime(): void {
    if (!this.hold.ended) return;
    throw new LockUsageError(`What ${this.hold.name} returned was read after its lock had been given back.`);
  }

  /** One more reads, until it calls what this answers; `end` gives the lock back if nobody else reads. */
  enter(): (end: () => Promise<void>) => Promise<void> {
    this.begun();
    this.count += 1;
    let reading = true;
    return async (end) => {
      if (!reading) return;
      reading = false;
      this.count -= 1;
      if (this.count === 0) await end();
    };
  }
}
