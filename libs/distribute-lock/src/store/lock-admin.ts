import type { LockState, LockStore } from './lock-store.js';

/** Operations that forced release needs besides the commands of a store. */
export interface Force {
  /** Notifies the process of the token that its lock was released by force. */
  notify(ownerToken: string): Promise<unknown>;
  /** Deletes the value of a foreign client if the key still holds it. */
  deleteForeign(value: string): Promise<boolean>;
}

/**
 * Releases the lock on behalf of each holder, so that the next waiter gets it as after any release. A new holder keeps
 * the lock.
 * @returns whether a holder lost the lock
 */
export async function takeAway(store: LockStore, key: string, state: LockState, force: Force): Promise<boolean> {
  const { kind, holders } = state;
  if (kind === 'free') return false;
  if (kind === 'foreign') return force.deleteForeign(holders[0]);
  const taken = await Promise.all(
    holders.map(async (ownerToken) => {
      const answer = await store.release({ key, ownerToken, kind });
      // A resent release may have taken effect the first time. A message to a former holder does no harm.
      const gone = answer.outcome !== 'lost' || answer.resent;
      if (gone) await force.notify(ownerToken);
      return gone;
    }),
  );
  return taken.includes(true);
}
