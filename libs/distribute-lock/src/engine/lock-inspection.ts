import { createHash } from 'node:crypto';

import type { Holder } from './lease/grant.js';
import { processOf } from '../runtime/owner-token.js';
import type { LockState } from '../store/lock-store.js';

/** A process that holds a lock. @public */
export interface LockHolderInfo {
  /** An opaque name of the process, the same in every inspection. */
  readonly process: string;
  /** Whether it is this process. */
  readonly here: boolean;
  /**
   * Names of the holders: class and method, or the `name` option. Only known for this process; empty while an offer is in
   * transit.
   */
  readonly names: readonly string[];
}

/** A snapshot of a lock. It is advisory: the lock may change before the caller reads it. @public */
export interface LockInspection {
  readonly key: string;
  readonly held: boolean;
  /**
   * `'exclusive'` includes write locks. `'foreign'`: a client that does not use this package holds the key. `'free'`: the key is
   * not held, and the next caller determines the kind.
   */
  readonly kind: 'free' | 'exclusive' | 'read' | 'semaphore' | 'foreign';
  /** Number of permits of a semaphore. */
  readonly permits?: number;
  /** Processes that hold the lock; a process appears once for each semaphore lease. Empty for a foreign holder. */
  readonly holders: readonly LockHolderInfo[];
  /** Milliseconds until the last lease ends unless it is renewed; 0 when free, -1 when the key has no expiry. */
  readonly remainingMs: number;
  /** Number of waiting processes. */
  readonly waiting: number;
}

/** What this process knows of holders. */
export interface HolderLookup {
  readonly processId: string;
  holderOf(key: string, ownerToken: string): Holder | undefined;
}

/** Describes what the store reports, without owner tokens: an owner token suffices to release a lock. */
export function inspection(key: string, state: LockState, here: HolderLookup): LockInspection {
  const { kind, permits, holders, remainingMs, waiting } = state;
  const described = (ownerToken: string): LockHolderInfo[] => {
    const process = processOf(ownerToken);
    if (process === undefined) return [];
    const holds = here.holderOf(key, ownerToken)?.holds ?? [];
    return [{ process: nameOf(process), here: process === here.processId, names: holds.map(({ name }) => name) }];
  };
  return {
    key,
    held: kind !== 'free',
    kind,
    ...(permits === undefined ? {} : { permits }),
    holders: kind === 'foreign' ? [] : holders.flatMap(described),
    remainingMs,
    waiting,
  };
}

/** Hashes the process id, because every owner token contains it. */
const nameOf = (processId: string): string => createHash('sha256').update(processId).digest('base64url').slice(0, 10);
