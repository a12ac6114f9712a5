import { processOf } from '../runtime/owner-token.js';
import type { LockState } from './lock-store.js';

// The values of a lock key. A key with any other value belongs to a foreign client, unless the value is an owner token.

/** Readers hold the lock. */
export const READERS = 'readers';

const SEMAPHORE = /^semaphore:(\d+)$/;

/** A semaphore with this total number of permits uses the key. */
export const semaphoreValue = (permits: number): string => `semaphore:${permits}`;

/** Total number of permits of the semaphore that uses the key; `undefined` for any other lock. */
export function permitsOf(value: string | undefined): number | undefined {
  const permits = SEMAPHORE.exec(value ?? '')?.[1];
  return permits === undefined ? undefined : Number(permits);
}

/** Kind and permits according to the value of a lock key. */
export function kindOfValue(value: string | undefined): Pick<LockState, 'kind' | 'permits'> {
  if (value === undefined) return { kind: 'free' };
  if (value === READERS) return { kind: 'read' };
  const permits = permitsOf(value);
  if (permits !== undefined) return { kind: 'semaphore', permits };
  return { kind: processOf(value) === undefined ? 'foreign' : 'exclusive' };
}
