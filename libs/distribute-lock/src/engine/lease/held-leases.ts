import { AsyncLocalStorage } from 'node:async_hooks';

import { processWide } from '../../runtime/process-wide.js';
import type { Lease } from './lease.js';

/** One lease of a call chain, with the leases around it. */
interface Held {
  readonly lease: Lease;
  readonly outer: Held | undefined;
}

const chain = processWide('held leases', () => new AsyncLocalStorage<Held | undefined>());

/** Runs `work` as the holder of `lease`: {@link currentLease} finds it from anywhere inside. */
export function runHolding<T>(lease: Lease, work: () => T): T {
  return chain.run({ lease, outer: chain.getStore() }, work);
}

/** The innermost lease of this call chain; with `key`, the innermost lease for that key. */
export function currentLease(key?: string): Lease | undefined {
  return findHeld((lease) => key === undefined || lease.key === key || lease.keys.includes(key));
}

/** The innermost lease of this call chain that satisfies `wanted`. */
export function findHeld(wanted: (lease: Lease) => boolean): Lease | undefined {
  let held = chain.getStore();
  while (held !== undefined && !wanted(held.lease)) held = held.outer;
  return held?.lease;
}
