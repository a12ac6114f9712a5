import { processOf } from '../../runtime/owner-token.js';
import { takeAway } from '../forcing.js';
import { kindOfValue, type LockState } from '../lock-state.js';
import type { LockMessage, LockStore } from '../lock-store.js';
import type { LockTable } from './lock-table.js';
import type { SemaphoreTable } from './semaphore-table.js';

/** Inspects locks in memory and releases them by force. */
export class MemoryAdmin {
  constructor(
    private readonly table: LockTable,
    private readonly semaphores: SemaphoreTable,
    private readonly publish: (processId: string, message: LockMessage) => unknown,
  ) {}

  inspect(key: string): LockState {
    const owner = this.table.owner(key);
    const is = kindOfValue(owner, owner !== undefined && processOf(owner) !== undefined);
    return {
      ...is,
      holders: this.holders(key, is.kind, owner),
      remainingMs: is.kind === 'free' ? 0 : this.table.leftMs(key),
      waiting: this.table.queued(key).length + this.semaphores.queued(key).length,
    };
  }

  force(store: LockStore, key: string): Promise<boolean> {
    return takeAway(store, key, this.inspect(key), {
      tell: async (ownerToken) => this.publish(processOf(ownerToken)!, { type: 'revoked', key, ownerToken }),
      deleteForeign: async (value) => {
        if (this.table.owner(key) !== value) return false;
        this.table.overwrite(key, undefined);
        return true;
      },
    });
  }

  private holders(key: string, kind: LockState['kind'], owner: string | undefined): readonly string[] {
    if (kind === 'read') return this.table.readers(key).map(({ ownerToken }) => ownerToken);
    if (kind === 'semaphore') return [...this.semaphores.live(key).keys()];
    return owner === undefined ? [] : [owner];
  }
}
