import type { LaneName } from '../../runtime/owner-token.js';
import { ExclusiveLane } from './exclusive-lane.js';
import type { Lane, LaneParts } from './lane.js';
import { ReadLane } from './read-lane.js';
import { SemaphoreLane } from './semaphore-lane.js';

export function makeLanes(parts: LaneParts): Readonly<Record<LaneName, Lane>> {
  return {
    exclusive: new ExclusiveLane(parts),
    read: new ReadLane(parts),
    semaphore: new SemaphoreLane(parts),
  };
}
