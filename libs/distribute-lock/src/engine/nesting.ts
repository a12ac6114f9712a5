import { findHeld } from './lease/held-leases.js';
import { type LeaseActions, LeaseHandle } from './lease/lease-handle.js';
import type { Lease } from './lease/lease.js';
import type { LockCall } from './lease/lock-call.js';
import { MultiKeyLease } from './lease/multi-key-lease.js';
import { NestedLease } from './lease/nested-lease.js';
import { kindOfOption } from './kinds.js';
import { leavesProcess, nested, upgrade } from './refusals.js';

/**
 * The lease of `engine` under which this call chain holds the key. A promise that outlives its method is no holder.
 */
export function outerLease(engine: LeaseActions, key: string): LeaseHandle | undefined {
  const held = findHeld((lease) => {
    const part = partOf(lease, key);
    return part?.isHeld() === true && handleOf(part)?.isOf(engine) === true;
  });
  return held && handleOf(partOf(held, key));
}

/** Why a call must not be nested in the lease of its call chain; `undefined` if it may. */
export function nestingFault(call: LockCall, outer: LeaseHandle): Error | undefined {
  const { kind, reentrant } = call.options;
  const { name, nestsIn } = kindOfOption(kind);
  if (outer.leavesProcess) return leavesProcess(call, outer.call.name);
  if (outer.readsOnly && name === 'exclusive') return upgrade(call, outer.call.name);
  const fits = nestsIn.includes(outer.kind);
  return fits && (reentrant || outer.kind === 'read') ? undefined : nested(call, outer.call.name);
}

/** The lease of the key within a lease of the call chain. */
function partOf(lease: Lease, key: string): Lease | undefined {
  if (lease instanceof MultiKeyLease) return lease.parts[lease.keys.indexOf(key)];
  return lease.key === key ? lease : undefined;
}

function handleOf(lease: Lease | undefined): LeaseHandle | undefined {
  if (lease instanceof NestedLease) return lease.inner;
  return lease instanceof LeaseHandle ? lease : undefined;
}
