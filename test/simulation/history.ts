import { LockTable } from '../../libs/distribute-lock/src/store/memory/lock-table.js';
import { SemaphoreTable } from '../../libs/distribute-lock/src/store/memory/semaphore-table.js';
import type { Plan } from './plan.js';
import { World, type WorldSettings } from './world.js';

/** Runs one history and returns the world after it. */
export async function runHistory(plan: Plan, settings: Partial<WorldSettings> = {}): Promise<World> {
  const world = new World(plan, {
    makeTable: (tableHost) => new LockTable(tableHost),
    makeSemaphores: (tableHost, locks) => new SemaphoreTable(tableHost, locks),
    ...settings,
  });
  await world.run();
  return world;
}
