import { AsyncLocalStorage } from 'node:async_hooks';

import { processWide } from '../../runtime/process-wide.js';
import { LockUsageError } from '../../errors.js';
import type { Lease } from './lease.js';

/** A lease inside the package. */
export interface HeldLease extends Lease {
  /** Its holder has released it. A lost lease has not been released, because its work may still run. */
  readonly left?: boolean;
}

/** One lease of a call chain, with the leases around it. */
interface Held {
  readonly lease: HeldLease;
  outer: Held | undefined;
}

const chain = processWide('held leases', () => new AsyncLocalStorage<Held | undefined>());

/** Runs `work` as the holder of `lease`: {@link findCurrentLease} finds it from anywhere inside. */
export function runHolding<T>(lease: Lease, work: () => T): T {
  const outer = heldLeases();
  return chain.run({ lease, outer: outer?.lease === lease ? outer.outer : outer }, work);
}

/**
 * Runs `work` outside the locks of the running call, and returns its result. Use it for work that the call starts but does not wait
 * for, such as a background job or an event listener. The work waits for a lock of the running call like any other caller, so do not
 * wait for it while you hold that lock.
 * @example
 * ```ts
 * void outsideLocks(() => this.reports.rebuild(sku));
 * ```
 * @public
 */
export function outsideLocks<T>(work: () => T): T {
  return chain.run(undefined, work);
}

/** The leases of this call chain. A released lease leaves the chain, because timers and promises may continue the chain without an end. */
function heldLeases(): Held | undefined {
  const first = heldFrom(chain.getStore());
  for (let held = first; held !== undefined; held = held.outer) held.outer = heldFrom(held.outer);
  return first;
}

function heldFrom(start: Held | undefined): Held | undefined {
  let held = start;
  while (held?.lease.left === true) held = held.outer;
  return held;
}

/**
 * The lease that the running call holds: the innermost lease, or the lease of `key`. It works in a decorated method, in a callback of
 * `withLock`, and in everything they call.
 * @throws LockUsageError when the call holds no lease, or not that of `key`
 * @example
 * ```ts
 * await this.database.write(sku, currentLease().fencingToken);
 * ```
 * @public
 */
export function currentLease(key?: string): Lease {
  const lease = findCurrentLease(key);
  if (lease !== undefined) return lease;
  const held = key === undefined ? 'no lease' : 'no lease of that key';
  throw new LockUsageError(
    `currentLease() found ${held}: call it in a locked method, in a callback of withLock(), or in what they call.`,
    { key },
  );
}

/** The innermost lease of this call chain; with `key`, the innermost lease for that key. */
export function findCurrentLease(key?: string): Lease | undefined {
  return findHeld((lease) => key === undefined || lease.key === key || lease.keys.includes(key));
}

/** The innermost lease of this call chain that satisfies `wanted`. */
export function findHeld(wanted: (lease: Lease) => boolean): Lease | undefined {
  let held = heldLeases();
  while (held !== undefined && !wanted(held.lease)) held = held.outer;
  return held?.lease;
}
