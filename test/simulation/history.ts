import type { Plan } from './plan.js';
import { World, type WorldSettings } from './world.js';

/** Runs one history and returns the world after it. */
export async function runHistory(plan: Plan, settings: WorldSettings = {}): Promise<World> {
  const world = new World(plan, settings);
  await world.run();
  return world;
}
