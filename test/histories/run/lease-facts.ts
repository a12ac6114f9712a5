import { MultiKeyLease } from '../../../libs/distribute-lock/src/engine/lease/multi-key-lease.js';
import { LeaseHandle } from '../../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import type { Lease } from '../../../libs/distribute-lock/src/engine/lease/lease.js';
import { NestedLease } from '../../../libs/distribute-lock/src/engine/lease/nested-lease.js';
import { monotonicMs } from '../../fault/support/monotonic.js';

/** The clock of the library starts with its process. */
const OFFSET_MS = monotonicMs() - performance.now();

/** When the command of the grant was sent, for each key. A history uses no other internal data of a lease. */
export function sentAtOf(lease: Lease): Record<string, number> {
  return Object.fromEntries(handlesOf(lease).map(({ key, grant }) => [key, grant.startedAt + OFFSET_MS]));
}

function handlesOf(lease: Lease): readonly LeaseHandle[] {
  if (lease instanceof MultiKeyLease) return lease.parts.flatMap(handlesOf);
  if (lease instanceof NestedLease) return [lease.outer];
  return lease instanceof LeaseHandle ? [lease] : [];
}
