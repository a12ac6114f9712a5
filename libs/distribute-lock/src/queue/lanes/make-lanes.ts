import { ExclusiveLane } from './exclusive-lane.js';
import type { LaneParts } from './lane.js';
import { ReadLane } from './read-lane.js';
import { SemaphoreLane } from './semaphore-lane.js';

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
