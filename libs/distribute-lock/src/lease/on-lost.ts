import type { ResolvedLockOptions } from '../options/lock-options.js';
import type { Lease } from './lease.js';

/**
 * Ends a call whose work has ended well, after its release: a release that finds the lock in other hands proves the loss, and one
 * without a reply proves nothing.
 * @throws the loss of the lease, with `onLost: 'throw'`
 */
export function throwIfLost(lease: Lease, { onLost }: ResolvedLockOptions): void {
  if (onLost === 'throw') lease.signal.throwIfAborted();
}
