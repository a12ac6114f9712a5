import type { StoreFeature } from 'nestjs-distribute-lock/testing/contract';

import { type LockEvent, LockEvents } from '../../libs/distribute-lock/src/events.js';
import { orderedKeys } from '../../libs/distribute-lock/src/keys/check-key.js';
import type { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import type { OpenLease } from '../../libs/distribute-lock/src/engine/lease/open-lease.js';
import type { LockCall } from '../../libs/distribute-lock/src/engine/lease/lock-call.js';
import {
  LOCK_DEFAULTS,
  type LockOptions,
  resolveLockOptions,
} from '../../libs/distribute-lock/src/options/lock-options.js';
import { LockEngine, type LockEngineSettings } from '../../libs/distribute-lock/src/engine/lock-engine.js';
import { newLocks } from '../../libs/distribute-lock/src/locks/create-locks.js';
import type { LockStore } from '../../libs/distribute-lock/src/store/lock-store.js';
import { onCleanup } from '../support/cleanup.js';
import { type CommandCounts, counting } from './counting-store.js';

/** One back end, as the contract sees it. */
export interface World {
  /**
   * Whether a release hands the lock over to the next waiting process, in the order of their attempts. Otherwise that
   * process is notified and asks again.
   * @defaultValue `true`
   */
  readonly handsOver?: boolean;
  /**
   * Whether it supports exclusive locks only.
   * @defaultValue `false`
   */
  readonly exclusiveOnly?: boolean;
  /**
   * Whether its processes are those of `createLocks`.
   * @defaultValue `false`
   */
  readonly byCreateLocks?: boolean;
  /** The features of the published rules that its stores lack. */
  readonly lacks?: readonly StoreFeature[];
  /** Opens another store on the same back end, like another process. */
  store(): LockStore;
  /** Whether the back end detects that a process is gone, and skips it. */
  readonly counted: boolean;
  /** The value of the key of the lock, also of a foreign owner. */
  owner(key: string): Promise<string | undefined>;
  /** Milliseconds until the key ends; -1 without a TTL, -2 without a key. */
  leftMs(key: string): Promise<number>;
  /** Writes the key as a foreign client or an operator does; deletes it when `owner` is undefined. */
  overwrite(key: string, owner: string | undefined, ttlMs?: number): Promise<void>;
  /** Number of owner tokens in the queue of the key. */
  waiting(key: string): Promise<number>;
  /** Every key of the back end that belongs to this world, except the counter of fencing tokens. */
  leftovers(): Promise<string[]>;
}

/** A process of the contract: its own store, engine and events. */
export interface Process {
  readonly engine: LockEngine;
  readonly observer: LockEvents;
  readonly events: LockEvent[];
  readonly counts: CommandCounts;
  acquire(key: string, options?: ProcessOptions): Promise<LeaseHandle>;
  acquireMultiKey(keys: readonly string[], options?: ProcessOptions): Promise<Lease>;
}

type ProcessOptions = LockOptions & Partial<Pick<LockCall, 'name' | 'signal' | 'scoped' | 'endsWait'>>;

interface Limits extends Pick<LockEngineSettings, 'retryAfter' | 'warnAfterMs'> {
  readonly perKey?: number;
  readonly total?: number;
}

/** It ends with the spec file. */
export function startProcess(world: World, limits: Limits = {}): Process {
  return world.byCreateLocks === true ? processOfCreateLocks(world, limits) : processOfEngine(world, limits);
}

function processOfEngine(world: World, limits: Limits): Process {
  const observer = new LockEvents();
  const events: LockEvent[] = [];
  observer.listen((event) => events.push(event));
  const counts: CommandCounts = { commands: 0, queued: 0 };
  const engine = new LockEngine(counting(world.store(), counts), {
    defaults: LOCK_DEFAULTS,
    maxWaitersPerKey: limits.perKey ?? 10_000,
    maxWaiters: limits.total ?? 100_000,
    events: observer,
    retryAfter: limits.retryAfter,
    warnAfterMs: limits.warnAfterMs,
  });
  onCleanup(() => engine.close());
  return {
    engine,
    observer,
    events,
    counts,
    acquire: (key, options) => engine.acquire(callOf(key, options)) as Promise<LeaseHandle>,
    acquireMultiKey: async (keys, options) =>
      engine.acquire({ ...callOf('', options), key: orderedKeys(keys, 'contract') }),
  };
}

const callOf = (
  key: string,
  { name = 'contract', signal, scoped = false, endsWait, ...options }: ProcessOptions = {},
): LockCall => ({
  key,
  name,
  options: resolveLockOptions(options),
  scoped,
  signal,
  endsWait,
});

const ignore = (): void => undefined;

/** The same by the door of programs without Nest. Only calls as Nest makes them go to the engine. */
function processOfCreateLocks(world: World, { perKey, total, retryAfter, warnAfterMs }: Limits): Process {
  const counts: CommandCounts = { commands: 0, queued: 0 };
  const { locks, engine } = newLocks({
    connection: counting(world.store(), counts),
    log: { debug: ignore, log: ignore, warn: ignore },
    maxWaiters: { perKey: perKey ?? 10_000, total: total ?? 100_000 },
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(warnAfterMs === undefined ? {} : { warnAfter: warnAfterMs }),
  });
  onCleanup(() => engine.close());
  const events: LockEvent[] = [];
  locks.events.listen((event) => events.push(event));
  // A lease ends when it is collected, and the contract keeps only what is inside.
  const kept = new Set<Lease>();
  const acquire = async (key: string | readonly string[], given: ProcessOptions = {}): Promise<Lease> => {
    const { scoped, endsWait, ...options } = given;
    if (scoped !== undefined || endsWait !== undefined) {
      return engine.acquire({
        ...callOf('', given),
        key: typeof key === 'string' ? key : orderedKeys(key, 'contract'),
      });
    }
    const lease = await locks.acquire(key, { name: 'contract', ...options });
    kept.add(lease);
    return (lease as OpenLease).inner;
  };
  return {
    engine,
    observer: locks.events,
    events,
    counts,
    acquire: (key, options) => acquire(key, options) as Promise<LeaseHandle>,
    acquireMultiKey: acquire,
  };
}
