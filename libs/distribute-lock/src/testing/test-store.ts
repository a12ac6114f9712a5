import { LockStoreError } from '../store/lock-store.js';
import { MemoryLockStore } from '../store/memory/memory-lock-store.js';

/** Commands that need Redis. */
const COMMANDS = ['acquire', 'acquireAll', 'release', 'renew', 'downgrade', 'inspect', 'force'] as const;

/** A store in memory whose commands fail during an outage. */
export class TestStore extends MemoryLockStore {
  /** Number of outages that have not ended. */
  outages = 0;

  static {
    for (const name of COMMANDS) {
      const command = MemoryLockStore.prototype[name] as (this: TestStore, ...given: never[]) => Promise<unknown>;
      Object.assign(this.prototype, {
        async [name](this: TestStore, ...given: never[]) {
          if (this.outages === 0) return Reflect.apply(command, this, given);
          throw new LockStoreError('Redis is away, because the test called outage().', true, { sent: false });
        },
      });
    }
  }
}
