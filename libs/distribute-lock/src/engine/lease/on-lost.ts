import type { ResolvedLockOptions } from '../../options/lock-options.js';
import type { Lease } from './lease.js';

/**
 * Called after the work has succeeded and its lease was released. A release that finds another owner proves the loss; a release
 * without a reply proves nothing.
 * @throws the loss of the lease if `onLost` is `'throw'`
 */
export function throwIfLost(lease: Lease, { onLost }: ResolvedLockOptions): void {
  if (onLost === 'throw') lease.signal.throwIfAborted();
}
