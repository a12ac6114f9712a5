import type { LockStore } from './lock-store.js';
import type { LockState } from './lock-state.js';

/** What taking a lock away needs beside the commands of a store. */
export interface Force {
  /** Tells the process of the token that its lock was taken away. */
  tell(ownerToken: string): Promise<unknown>;
  /** Deletes what somebody wrote who is not one of ours, if it still stands there. */
  deleteForeign(value: string): Promise<boolean>;
}

/**
 * Releases the lock in the name of each holder: whoever waits gets it as after any release, and a holder that has changed
 * meanwhile keeps it.
 * @returns whether anybody lost it
 */
export async function takeAway(store: LockStore, key: string, state: LockState, force: Force): Promise<boolean> {
  const { kind, holders } = state;
  if (kind === 'free') return false;
  if (kind === 'foreign') return force.deleteForeign(holders[0]);
  const taken = await Promise.all(
    holders.map(async (ownerToken) => {
      const answer = await store.release({ key, ownerToken, kind });
      // Asked twice, the first time may have taken it away. Telling who left by itself does no harm.
      const gone = answer.outcome !== 'lost' || answer.resent;
      if (gone) await force.tell(ownerToken);
      return gone;
    }),
  );
  return taken.includes(true);
}
