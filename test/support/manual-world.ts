import { type LockEvent, LockEvents } from '../../libs/distribute-lock/src/events.js';
import type { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import type { LockCall } from '../../libs/distribute-lock/src/engine/lease/lock-call.js';
import {
  LOCK_DEFAULTS,
  type LockOptions,
  resolveLockOptions,
} from '../../libs/distribute-lock/src/options/lock-options.js';
import { LockEngine, type LockEngineSettings } from '../../libs/distribute-lock/src/engine/lock-engine.js';
import type { Clock } from '../../libs/distribute-lock/src/runtime/clock.js';
import type { LockStoreListener } from '../../libs/distribute-lock/src/store/lock-store.js';
import { MemoryLockStore } from '../../libs/distribute-lock/src/store/memory/memory-lock-store.js';
import { type Detours, withDetours } from './held-up-store.js';
import { ManualClock } from './manual-clock.js';
import { StoreState } from './memory-state.js';

type Options = LockOptions & Pick<LockCall, 'signal' | 'endsWait'> & { scoped?: boolean };

/** A process of a {@link ManualWorld}. */
export interface ManualProcess {
  readonly engine: LockEngine;
  readonly observer: LockEvents;
  readonly events: LockEvent[];
  /** A test sets and deletes entries while the process runs. */
  readonly detours: Detours;
  acquire(key: string, options?: Options): Promise<LeaseHandle>;
}

/** Processes that share one in-memory store and one clock. */
export class ManualWorld {
  readonly store: MemoryLockStore;
  readonly state: StoreState;

  constructor(readonly clock: Clock) {
    this.store = new MemoryLockStore(clock);
    this.state = new StoreState(this.store);
  }

  /** From now on, processes subscribe with the listener that `replace` makes of theirs. */
  listenThrough(replace: (listener: LockStoreListener) => LockStoreListener): void {
    const { store } = this;
    const subscribe = store.subscribe.bind(store);
    store.subscribe = (processId, listener) => subscribe(processId, replace(listener));
  }

  process(detours: Detours = {}, maxWaiters = 5, settings: Partial<LockEngineSettings> = {}): ManualProcess {
    const observer = new LockEvents();
    const events: LockEvent[] = [];
    observer.listen((event) => events.push(event));
    const engine = new LockEngine(withDetours(this.store, detours), {
      defaults: LOCK_DEFAULTS,
      maxWaitersPerKey: 100,
      maxWaiters,
      events: observer,
      clock: this.clock,
      ...settings,
    });
    const callOf = (key: string, { signal, endsWait, scoped = false, ...options }: Options): LockCall => {
      return { key, name: 'unit', options: resolveLockOptions(options), scoped, signal, endsWait };
    };
    const acquire = (key: string, options: Options = {}): Promise<LeaseHandle> =>
      engine.acquire(callOf(key, options)) as Promise<LeaseHandle>;
    return { engine, observer, events, detours, acquire };
  }
}

/** Two processes of a world whose clock the test moves. */
export function twoProcesses() {
  const clock = new ManualClock();
  const world = new ManualWorld(clock);
  return { clock, world, here: world.process(), there: world.process() };
}

/** The types of the events that the process has emitted, in order. */
export const typesOf = ({ events }: ManualProcess): string[] => events.map(({ type }) => type);

/** The code of the error with which a call ends, or `resolved`. */
export const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'resolved',
    (error: { code: string }) => error.code,
  );
