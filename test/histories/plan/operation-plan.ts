import type { Random } from '../../simulation/random.js';
import type { CallName, RecordedOptions } from '../event.js';
import { themePlan } from './themes.js';
import type { KeyPlan, WorldPlan } from './world-plan.js';

/** One operation of a caller: its call, and its actions during the hold. */
export interface OperationPlan {
  readonly call: CallName;
  readonly keys: readonly string[];
  readonly options: RecordedOptions;
  readonly holdMs: number;
  /** The pause of the caller afterwards. */
  readonly gapMs: number;
  readonly abortAfterMs?: number;
  /** Blocks the event loop during the hold. */
  readonly blockMs?: number;
  /** Blocks the event loop from the first moment of the hold. */
  readonly blockFirstMs?: number;
  readonly extendMs?: number;
  readonly downgrades?: boolean;
  /** A call for the same key inside the work of `withLock`. */
  readonly inner?: 'reentrant' | 'refused';
  /** Calls for the same key inside the work of `withLock`, which does not wait for their end. */
  readonly outlasting?: readonly OutlastingPlan[];
  /** A call for the same key outside of the lock, which the work of `withLock` starts. */
  readonly detached?: { readonly holdMs: number };
  readonly releasesTwice?: boolean;
  /** Detaches the lease after the work, and gives so many copies of the ticket to other callers. */
  readonly detach?: { readonly ttlMs: number; readonly copies: number };
  /** What the caller does with a ticket if there is one, instead of this operation. */
  readonly ticket?: 'attach' | 'cancel';
}

/** A reentrant call that may hold the lock for longer than the call around it. */
export interface OutlastingPlan {
  readonly holdMs: number;
  readonly reads: boolean;
  /** Whether another such call begins at its end. */
  readonly again: boolean;
}

const TTLS = [250, 400, 700, 1_200, 2_000];
/** The longest ttl of all leases and extensions. */
export const LONGEST_TTL_MS = 3_000;

/** Draws the next operation of a caller. */
export function planOperation(random: Random, world: WorldPlan): OperationPlan {
  const operation = planUsual(random, world);
  return world.theme === undefined ? operation : themePlan(world.theme).operation(random, operation, world);
}

function planUsual(random: Random, world: WorldPlan): OperationPlan {
  const key = random.pick(world.keys);
  const keys = random.chance(world.severalShare) ? several(random, world, key) : [key.name];
  const call = random.pick(world.calls);
  const options = planOptions(random, world, key, call, keys.length);
  const [common, ...rare] = world.holdMs;
  const holdMs = random.chance(0.9) ? random.int(0, common) : random.int(0, random.pick(rare));
  const single = keys.length === 1;
  const writes = key.kind === 'read-write' && options.kind !== 'read';
  return {
    call,
    keys,
    options,
    holdMs,
    gapMs: random.chance(0.5) ? 0 : random.int(0, world.gapMs),
    abortAfterMs: random.chance(0.06) ? random.int(0, 400) : undefined,
    blockMs: random.chance(world.blockShare) ? random.int(30, 900) : undefined,
    extendMs: random.chance(0.05) ? random.int(200, LONGEST_TTL_MS) : undefined,
    downgrades: single && writes && random.chance(0.3),
    inner: single && call === 'withLock' && random.chance(0.08) ? inner(options) : undefined,
    releasesTwice: random.chance(0.03),
  };
}

function planOptions(random: Random, world: WorldPlan, key: KeyPlan, call: CallName, count: number): RecordedOptions {
  const ttl = random.chance(0.75) ? key.ttlMs : random.pick(TTLS);
  const wait = call === 'tryAcquire' ? undefined : random.pick(world.waits);
  const permits = key.kind === 'semaphore' ? key.permits : undefined;
  const minHold = random.chance(world.keptShare) ? random.int(20, 200) : undefined;
  return {
    ttl,
    wait,
    kind: kindOf(random, key, count),
    permits,
    weight: permits === undefined ? undefined : random.chance(0.7) ? 1 : random.int(1, permits),
    renew: random.chance(0.9),
    maxHold: minHold === undefined && random.chance(0.04) ? random.int(50, 800) : undefined,
    minHold,
    fair: random.chance(0.25) ? 'strict' : 'process',
    reentrant: random.chance(0.3),
    release: random.chance(world.keptShare / 2) ? 'expire' : 'end',
    onLost: random.chance(0.5) ? 'throw' : 'signal',
  };
}

function kindOf(random: Random, key: KeyPlan, count: number): RecordedOptions['kind'] {
  if (key.kind === 'semaphore') return 'semaphore';
  if (key.kind === 'exclusive' || count > 1) return random.pick(['exclusive', 'write']);
  return random.chance(key.readShare) ? 'read' : random.pick(['exclusive', 'write']);
}

/** Readers may always enter again; all others need `reentrant`. */
function inner({ kind, reentrant }: RecordedOptions): OperationPlan['inner'] {
  return kind !== 'semaphore' && (reentrant === true || kind === 'read') ? 'reentrant' : 'refused';
}

function several(random: Random, { keys }: WorldPlan, first: KeyPlan): readonly string[] {
  if (first.kind === 'semaphore') return [first.name];
  const others = keys.filter(({ kind }) => kind !== 'semaphore').map(({ name }) => name);
  const names = new Set([first.name]);
  for (let count = random.int(1, 2); count > 0; count -= 1) names.add(random.pick(others));
  return [...names];
}
