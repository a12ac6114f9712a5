import { MultiKeyLease } from '../../../libs/distribute-lock/src/engine/lease/multi-key-lease.js';
import { LeaseHandle } from '../../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import type { Lease } from '../../../libs/distribute-lock/src/engine/lease/lease.js';
import { NestedLease } from '../../../libs/distribute-lock/src/engine/lease/nested-lease.js';
import { OpenLease } from '../../../libs/distribute-lock/src/engine/lease/open-lease.js';
import { monotonicMs } from '../../support/monotonic.js';
import type { WorkerEvent } from '../event.js';

type Granted = Extract<WorkerEvent, { type: 'granted' }>;

/** The clock of the library starts with its process. */
const OFFSET_MS = monotonicMs() - performance.now();

/** When the command of the grant was sent, and how many leases it has served. A history uses no other internal data of a lease. */
export function grantsOf(lease: Lease): Pick<Granted, 'sentAt' | 'leases'> {
  const handles = handlesOf(lease);
  return {
    sentAt: Object.fromEntries(handles.map(({ key, grant }) => [key, grant.startedAt + OFFSET_MS])),
    leases: Object.fromEntries(handles.map(({ key, grant }) => [key, grant.passes])),
  };
}

/** Throws for an unknown lease: without these facts, the checker would accept violations and report correct leases. */
export function handlesOf(lease: Lease): readonly LeaseHandle[] {
  if (lease instanceof OpenLease) return handlesOf(lease.inner);
  if (lease instanceof MultiKeyLease) return lease.parts.flatMap(handlesOf);
  if (lease instanceof NestedLease) return [lease.inner];
  if (lease instanceof LeaseHandle) return [lease];
  throw new TypeError(`The histories do not know a ${lease.constructor.name}.`);
}
