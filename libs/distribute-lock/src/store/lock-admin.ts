import type { LockState, LockStore } from './lock-store.js';

/** A store whose locks can be taken away. */
type Store = LockStore & Pick<Required<LockStore>, 'revoked'>;

/**
 * Releases the lock on behalf of each holder, so that the next waiter gets it as after any release. A new holder keeps
 * the lock.
 * @param deleteForeign - deletes the value of a foreign client if the key still holds it
 * @returns whether a holder lost the lock
 */
export async function takeAway(
  store: Store,
  key: string,
  state: LockState,
  deleteForeign: (value: string) => Promise<boolean>,
  only?: string,
): Promise<boolean> {
  const { kind, holders } = state;
  if (kind === 'free') return false;
  if (kind === 'foreign') return only === undefined && deleteForeign(holders[0]);
  const taken = await Promise.all(
    holders.map(async (ownerToken) => {
      if (only !== undefined && ownerToken !== only) return false;
      const answer = await store.release({ key, ownerToken, kind });
      // A resent release may have taken effect the first time. A message to a former holder does no harm.
      const gone = answer.outcome !== 'lost' || answer.resent;
      if (gone) await store.revoked(key, ownerToken);
      return gone;
    }),
  );
  return taken.includes(true);
}
