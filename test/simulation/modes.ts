import type { ResolvedLockOptions } from '../../libs/distribute-lock/src/options/lock-options.js';

/** A writer takes all of its key, and a reader a share that is too small to count. */
const ALL = 1_000_000;

/** What a caller takes of its key while it holds it. */
export function weightOf({ kind, weight }: ResolvedLockOptions, reads = kind === 'read'): number {
  if (kind === 'semaphore') return weight;
  return reads ? 1 : ALL;
}

/** What there is to take. */
export const capacityOf = ({ kind, permits }: ResolvedLockOptions): number => (kind === 'semaphore' ? permits : ALL);

/** Others may hold the key at the same time. */
export const shares = (options: ResolvedLockOptions): boolean => weightOf(options) < capacityOf(options);
