import { processOf } from '../runtime/owner-token.js';
import type { LockState } from './lock-store.js';
import { permitsOfValue } from './protocol/host.js';

// The values of a lock key. A key with any other value belongs to a foreign client, unless the value is an owner token.

/** Readers hold the lock. */
export const READERS = 'readers';

/** Kind and holders according to the value of a lock key, with the valid leases of readers and of permits. */
export function stateOfValue(
  value: string | undefined,
  read: readonly string[],
  semaphore: readonly string[],
): Pick<LockState, 'kind' | 'permits' | 'holders'> {
  if (value === undefined) return { kind: 'free', holders: [] };
  if (value === READERS && read.length > 0) return { kind: 'read', holders: read };
  const permits = permitsOfValue(value);
  if (permits !== undefined && semaphore.length > 0) return { kind: 'semaphore', permits, holders: semaphore };
  return { kind: processOf(value) === undefined ? 'foreign' : 'exclusive', holders: [value] };
}
