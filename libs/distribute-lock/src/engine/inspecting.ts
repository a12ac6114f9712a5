import { createHash } from 'node:crypto';

import type { Holder } from './lease/grant.js';
import { processOf } from '../runtime/owner-token.js';
import type { LockState } from '../store/lock-store.js';
import type { LockHolderInfo, LockInspection } from './lock-inspection.js';

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
    return [
      { process: processNameOf(process), here: process === here.processId, names: holds.map(({ name }) => name) },
    ];
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
export const processNameOf = (processId: string): string =>
  createHash('sha256').update(processId).digest('base64url').slice(0, 10);
