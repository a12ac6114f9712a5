import type { FaultPlan } from './plan.js';
import type { SimulatedProcess } from './simulated-process.js';
import type { World } from './world.js';

const FOREIGN_OWNER = 'x';

type Strike = (world: World, fault: FaultPlan, process: SimulatedProcess) => void;

/** They affect no lease: a stop is recorded when it ends, and the others end a process or take a free lock. */
const WITHOUT_EFFECT: readonly FaultPlan['kind'][] = ['stop', 'crash', 'drain', 'foreign'];

/** The effect of each kind of fault. */
const STRIKES: Readonly<Record<FaultPlan['kind'], Strike>> = {
  break: (_, { ms }, { store }) => store.connection.breakFor(ms),
  mute: (_, { ms }, { store }) => store.connection.mute(ms),
  deafen: (_, { ms }, { store }) => store.inbox.breakFor(ms),
  stop: ({ timeline }, { ms }, process) => {
    process.stop();
    timeline.add(timeline.now + ms, undefined, () => process.goOn());
  },
  crash: (_, __, process) => process.crash(),
  drain: (_, { ms }, process) => process.nextTurn(() => process.drain(ms)),
  foreign: (world, { key, ms }) => {
    const { locks } = world.server;
    if (locks.owner(key) !== undefined) return;
    locks.overwrite(key, FOREIGN_OWNER, ms * 2 + 1);
    world.timeline.add(world.timeline.now + ms, undefined, () => {
      if (locks.owner(key) === FOREIGN_OWNER) locks.overwrite(key, undefined);
      world.trouble();
    });
  },
  overwrite: ({ server }, { key, ms }) => server.overwrite(key, FOREIGN_OWNER, Math.ceil(ms) + 1),
  delete: ({ server }, { key }) => server.overwrite(key, undefined),
  flush: ({ server }) => server.flush(),
};

/** Plans the start of the fault, and extends the time of trouble by its duration. */
export function planFault(world: World, fault: FaultPlan): void {
  world.timeline.add(fault.at, undefined, () => {
    const process = world.processes[fault.process];
    if (process.gone) return;
    world.note(`${fault.kind} for ${fault.ms.toFixed(1)} ms`, process, fault.key);
    world.trouble(fault.ms);
    const { kind: name, ms } = fault;
    const { now } = world.timeline;
    if (!WITHOUT_EFFECT.includes(name))
      world.recorder.run({ type: 'fault', name, from: now, of: process.name, cutOff: false }, now + ms);
    STRIKES[fault.kind](world, fault, process);
  });
}
