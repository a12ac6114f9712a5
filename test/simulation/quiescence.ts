import type { LockEngine } from '../../libs/distribute-lock/src/engine/lock-engine.js';
import type { FaultKind } from './plan.js';
import type { World } from './world.js';

/** Private parts of the engine that must be empty at the end. */
interface Insides {
  readonly states: { readonly empty: boolean };
  readonly context: {
    readonly abandoned: { readonly size: number };
    readonly timers: { readonly delays: ReadonlyMap<number, { readonly first: unknown }> };
  };
}

/** After these faults a lock may stay taken until its ttl ends, because its process is gone. */
const GHOSTS: readonly FaultKind[] = ['crash', 'drain'];

/** Records at the end of the history what is left in the server and in the processes. */
export function recordLeftovers(world: World): void {
  for (const process of world.processes) {
    if (process.gone) continue;
    for (const what of remains(process.engine))
      world.recorder.run({ type: 'left', what: `${what} of ${process.name}` });
  }
  const left = (what: string): void => world.recorder.run({ type: 'left', what });
  const ghosts = world.plan.faults.some(({ kind }) => GHOSTS.includes(kind));
  const { locks } = world.server;
  for (const key of locks.keys()) {
    if (locks.owner(key) !== undefined && locks.leftMs(key) < 0) world.recorder.run({ type: 'persistent', key });
    // Redis counts in whole milliseconds, so the key of a free lock may end in this one.
    if (locks.isFree(key) || ghosts || world.server.isForeign(key) || world.pendingCalls.isLeft(key)) continue;
    left(`the key ${key}`);
  }
}

/** What is left in the engine. */
function remains(engine: LockEngine): readonly string[] {
  const { states, context } = engine as unknown as Insides;
  const timers = [...context.timers.delays.values()].filter(({ first }) => first !== undefined).length;
  return [
    ...(engine.load.waiting > 0 ? ['a waiter'] : []),
    ...(states.empty ? [] : ['a queue']),
    ...(context.abandoned.size > 0 ? ['an abandoned token'] : []),
    ...(timers > 0 ? ['a timer'] : []),
  ];
}
