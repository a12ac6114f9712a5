import type { LockEngine } from '../../libs/distribute-lock/src/engine/lock-engine.js';
import type { FaultKind } from './plan.js';
import type { World } from './world.js';

/** Private parts of the engine that must be empty at the end. */
interface Insides {
  readonly waiting: number;
  readonly states: { readonly empty: boolean };
  readonly context: {
    readonly abandoned: { readonly size: number };
    readonly timers: { readonly delays: ReadonlyMap<number, { readonly first: unknown }> };
  };
}

/** After these faults a lock may stay taken until its ttl ends, because its process is gone. */
const GHOSTS: readonly FaultKind[] = ['crash', 'drain'];

/** Checks at the end of the history that only keys with a TTL are left. */
export function checkNothingLeft(world: World): void {
  for (const process of world.processes) {
    if (!process.gone) checkIdle(world, process.engine, process.index);
  }
  const ghosts = world.plan.faults.some(({ kind }) => GHOSTS.includes(kind));
  const { locks } = world.server;
  for (const key of locks.keys()) {
    if (locks.owner(key) !== undefined && locks.leftMs(key) < 0) world.fail('a lock has no end', key);
    if (!ghosts && !world.server.isForeign(key) && !world.pendingCalls.isLeft(key))
      world.fail('a key is left without a holder or a waiter', key);
  }
}

function checkIdle(world: World, engine: LockEngine, index: number): void {
  const { waiting, states, context } = engine as unknown as Insides;
  const timers = [...context.timers.delays.values()].filter(({ first }) => first !== undefined).length;
  if (waiting > 0) world.fail('a waiter is left', `p${index}`);
  if (!states.empty) world.fail('a queue is left', `p${index}`);
  if (context.abandoned.size > 0) world.fail('an abandoned token is left', `p${index}`);
  if (timers > 0) world.fail('a timer is left', `p${index}`);
}
