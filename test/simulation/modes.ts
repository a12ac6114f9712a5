import type { ResolvedLockOptions } from '../../libs/distribute-lock/src/options/lock-options.js';

/** The weight of a writer; a reader has weight 1. */
const ALL = 1_000_000;

/** The weight of a caller while it holds its key. */
export function weightOf({ kind, weight }: ResolvedLockOptions, reads = kind === 'read'): number {
  if (kind === 'semaphore') return weight;
  return reads ? 1 : ALL;
}

/** The total weight that holders of a key may have. */
export const capacityOf = ({ kind, permits }: ResolvedLockOptions): number => (kind === 'semaphore' ? permits : ALL);
