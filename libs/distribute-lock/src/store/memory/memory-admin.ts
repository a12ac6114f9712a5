import { takeAway } from '../lock-admin.js';
import type { LockState } from '../lock-store.js';
import { stateOfValue } from '../lock-value.js';
import { NAMES, type MemoryLocks } from './memory-locks.js';

/** Inspects locks in memory and releases them by force. */
export class MemoryAdmin {
  constructor(private readonly locks: MemoryLocks) {}

  inspect(key: string): LockState {
    const { server } = this.locks;
    const value = server.call('GET', key);
    const [permits, permitsQueue] = NAMES.permits(key);
    const is = stateOfValue(value === false ? undefined : value, this.living(NAMES.readers(key)), this.living(permits));
    return {
      ...is,
      remainingMs: is.kind === 'free' ? 0 : server.call('PTTL', key),
      waiting: server.call('ZCARD', NAMES.queue(key)) + server.call('ZCARD', permitsQueue),
    };
  }

  force(store: Parameters<typeof takeAway>[0], key: string, only?: string): Promise<boolean> {
    const deleteForeign = async (value: string): Promise<boolean> => this.locks.deleteForeign(key, value);
    return takeAway(store, key, this.inspect(key), deleteForeign, only);
  }

  /** The owner tokens of the leases that have not ended. */
  private living(leases: string): string[] {
    const { server, nowMs } = this.locks;
    return server.call('ZRANGE', leases, `(${nowMs}`, '+inf', 'BYSCORE');
  }
}
