import type { LockCore } from '../../libs/distribute-lock/src/queue/lock-core.js';
import type { FaultKind } from './plan.js';
import type { World } from './world.js';

/** What of the core nobody outside should see, and what must be empty when everybody has gone. */
interface Insides {
  readonly queues: {
    readonly waiting: number;
    readonly queues: { readonly empty: boolean };
    readonly parts: {
      readonly abandoned: { readonly size: number };
      readonly lanes: { readonly lanes: ReadonlyMap<number, { readonly first: unknown }> };
    };
  };
}

/** After these a lock may stand until its ttl ends it, because its process is gone. */
const GHOSTS: readonly FaultKind[] = ['crash', 'drain'];

/** Nothing will happen any more: nothing may be left that is not about to end by itself. */
export function checkNothingLeft(world: World): void {
  for (const process of world.processes) {
    if (!process.gone) checkIdle(world, process.core, process.index);
  }
  const ghosts = world.plan.faults.some(({ kind }) => GHOSTS.includes(kind));
  const { table, semaphores } = world.server;
  for (const key of new Set([...table.keys(), ...semaphores.keys()])) {
    if (table.owner(key) !== undefined && table.leftMs(key) < 0) world.fail('a lock has no end', key);
    if (!ghosts && !world.server.isForeign(key) && !world.questions.isLeft(key))
      world.fail('a key is left that nobody wants', key);
  }
}

function checkIdle(world: World, core: LockCore, index: number): void {
  const { queues } = core as unknown as Insides;
  const timers = [...queues.parts.lanes.lanes.values()].filter(({ first }) => first !== undefined).length;
  if (queues.waiting > 0) world.fail('a waiter is left', `p${index}`);
  if (!queues.queues.empty) world.fail('a queue is left', `p${index}`);
  if (queues.parts.abandoned.size > 0) world.fail('an abandoned token is left', `p${index}`);
  if (timers > 0) world.fail('a timer is left', `p${index}`);
}
