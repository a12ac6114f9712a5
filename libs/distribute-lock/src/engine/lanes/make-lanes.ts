import type { TokenKind } from '../../runtime/owner-token.js';
import type { LockKind } from '../../store/lock-store.js';
import { ExclusiveLane } from './exclusive-lane.js';
import type { LaneParts } from './lane.js';
import { ReadLane } from './read-lane.js';
import { SemaphoreLane } from './semaphore-lane.js';

/** The lane of a kind: a write lock is an exclusive lock. */
export const laneOfKind = (kind: LockKind): TokenKind => (kind === 'write' ? 'exclusive' : kind);

export interface Lanes {
  readonly exclusive: ExclusiveLane;
  readonly read: ReadLane;
  readonly semaphore: SemaphoreLane;
}

export const makeLanes = (parts: LaneParts): Lanes => ({
  exclusive: new ExclusiveLane(parts),
  read: new ReadLane(parts),
  semaphore: new SemaphoreLane(parts),
});
