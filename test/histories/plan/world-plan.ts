import { Random } from '../../simulation/random.js';
import type { CallName } from '../event.js';
import { planFaults, type FaultPlan } from './fault-plan.js';
import { themePlan, type Theme } from './themes.js';

/** A key and the settings that its callers share. */
export interface KeyPlan {
  readonly name: string;
  readonly kind: 'exclusive' | 'read-write' | 'semaphore';
  /** For a semaphore. */
  readonly permits: number;
  /** Share of readers among the callers of a read-write key. */
  readonly readShare: number;
  /** Most callers use it, so that local hand-overs are possible. */
  readonly ttlMs: number;
}

/**
 * `calm`: no faults. `faulty`: processes, network and server fail, and Redis keeps its data. `lossy`: Redis also loses
 * data.
 */
export type Mood = 'calm' | 'faulty' | 'lossy';

/** Consecutive seeds cover all of them. */
const MOODS: readonly Mood[] = ['calm', 'faulty', 'lossy', 'faulty'];

/** All settings of a history, derived from its seed. */
export interface WorldPlan {
  readonly seed: number;
  readonly mood: Mood;
  readonly theme?: Theme;
  readonly operations: number;
  readonly processes: number;
  /** Concurrent callers of each process. */
  readonly callers: number;
  readonly keys: readonly KeyPlan[];
  readonly calls: readonly CallName[];
  /** `wait` of the calls, in milliseconds. */
  readonly waits: readonly number[];
  /** Share of operations that ask for several keys. */
  readonly severalShare: number;
  /** Share of operations with `minHold`; half as many have `release: 'expire'`. */
  readonly keptShare: number;
  /** Share of operations that block the event loop while they hold. */
  readonly blockShare: number;
  /** Share of operations that block the event loop from the first moment of their hold. */
  readonly blockFirstShare?: number;
  /** The longest hold of most operations, followed by those of the others. */
  readonly holdMs: readonly [number, ...number[]];
  readonly gapMs: number;
  /** Concurrent sequences of faults. */
  readonly faults: readonly (readonly FaultPlan[])[];
}

export interface WorldSettings {
  readonly seed: number;
  readonly operations: number;
  readonly mood?: Mood;
  readonly theme?: Theme;
  /** Overrides of the settings from the seed, for tests of the checker. */
  readonly fixed?: Partial<WorldPlan>;
}

/** Returns the same settings for every run of the same seed. */
export function planWorld({ seed, operations, mood: given, theme, fixed }: WorldSettings): WorldPlan {
  const random = new Random(seed * 2_654_435_761);
  const mood = given ?? MOODS[seed % MOODS.length];
  const processes = random.int(3, 4);
  const keys = planKeys(random);
  const blockShare = mood === 'calm' ? 0 : 0.002;
  return {
    seed,
    mood,
    theme,
    operations,
    processes,
    callers: random.int(16, 30),
    keys,
    calls: ['acquire', 'acquire', 'withLock', 'withLock', 'tryAcquire'],
    waits: [0, 0, 60, 300, 800, 1_500, 2_500],
    severalShare: random.pick([0, 0.05, 0.15]),
    keptShare: 0.03,
    blockShare,
    holdMs: random.pick([
      [5, 100],
      [15, 60, 1_500],
      [30, 400],
    ]),
    gapMs: random.pick([5, 40, 150]),
    faults: mood === 'calm' ? [] : planFaults(random, mood, processes),
    ...(theme === undefined ? {} : themePlan(theme).world),
    ...fixed,
  };
}

/** The settings of one process. */
export function worldOf(world: WorldPlan, process: number): WorldPlan {
  const { keyOf } = world.theme === undefined ? {} : themePlan(world.theme);
  return keyOf === undefined ? world : { ...world, keys: world.keys.map((key) => keyOf(key, process)) };
}

function planKeys(random: Random): KeyPlan[] {
  const ttl = (): number => random.pick([400, 700, 1_200, 2_000]);
  const named = (kind: KeyPlan['kind'], count: number): KeyPlan[] =>
    Array.from({ length: count }, (_, i) => ({
      name: `${kind}-${i}`,
      kind,
      permits: random.int(2, 6),
      readShare: random.pick([0.5, 0.8, 0.95]),
      ttlMs: ttl(),
    }));
  return [
    ...named('exclusive', random.int(2, 5)),
    ...named('read-write', random.int(2, 4)),
    ...named('semaphore', random.int(1, 3)),
  ];
}
