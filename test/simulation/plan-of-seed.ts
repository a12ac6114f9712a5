import { LOCK_DEFAULTS, type ResolvedLockOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { PATIENT_MS, type CallerPlan, type FaultKind, type FaultPlan, type Plan, type ProcessPlan } from './plan.js';
import { perhapsWithReaders } from './read-write-plan.js';
import { perhapsWithMultiKey } from './multi-key-plan.js';
import { perhapsWithPermits } from './semaphore-plan.js';
import { Random } from './random.js';

interface Weather {
  readonly faults: readonly FaultKind[];
  readonly most: number;
  readonly lossShare?: number;
  readonly lateShare?: number;
  readonly refusalShare?: number;
}

const DATA_LOSS = ['overwrite', 'delete', 'flush'] as const;
const WEATHERS: Readonly<Record<string, Weather>> = {
  calm: { faults: [], most: 0 },
  'messages lost': { faults: ['deafen'], most: 1, lossShare: 0.3 },
  'late transfers': { faults: ['mute'], most: 1, lateShare: 0.05 },
  'broken connections': { faults: ['break', 'break', 'mute'], most: 3 },
  'refused commands': { faults: ['break'], most: 1, refusalShare: 0.1 },
  'stopped processes': { faults: ['stop'], most: 3 },
  'crashed processes': { faults: ['crash'], most: 2 },
  'processes that shut down': { faults: ['drain'], most: 2 },
  'foreign clients': { faults: ['foreign'], most: 3 },
  'lost data': { faults: DATA_LOSS, most: 2 },
  storm: {
    faults: ['break', 'mute', 'deafen', 'stop', 'crash', 'drain', 'foreign', ...DATA_LOSS],
    most: 5,
    lossShare: 0.1,
    lateShare: 0.02,
    refusalShare: 0.02,
  },
};
const NAMES = [...Object.keys(WEATHERS), 'calm', 'storm', 'broken connections'];
/** Longer than the ttl, up to a limit for the length of the history. */
const overlong = (ttlMs: number): number => Math.min(ttlMs * 1.3, 7_000);

/** Share of histories with many callers of one process and another competing process. */
const CROWD_SHARE = 0.02;

/** The history of this number. */
export function planOf(seed: number): Plan {
  const random = new Random(seed);
  const name = random.pick(NAMES);
  const weather = WEATHERS[name];
  const processes = Array.from({ length: random.pick([1, 2, 2, 2, 3, 3, 4]) }, () => processPlan(random));
  const keys = random.chance(0.8) ? ['a'] : ['a', 'b'];
  const span = random.pick([2, 20, 200, 2000]);
  const callers = random.chance(CROWD_SHARE)
    ? crowd(random, processes.length)
    : someCallers(random, processes.length, keys, span);
  const plan = perhapsWithPermits({
    seed,
    weather: name,
    processes,
    callers,
    faults: faults(random, weather, processes.length, keys, span),
    latencyMs: random.pick([0.2, 1, 3]),
    lagMs: random.pick([0, 0.2, 0.9]),
    lossShare: weather.lossShare ?? 0,
    lateShare: weather.lateShare ?? 0,
    refusalShare: weather.refusalShare ?? 0,
    counted: random.chance(0.85),
  });
  return perhapsWithReaders(perhapsWithMultiKey(plan));
}

function processPlan(random: Random): ProcessPlan {
  return { rate: random.between(0.991, 1.009), offset: random.between(0, 1e6), deaf: random.chance(0.03) };
}

function someCallers(random: Random, processes: number, keys: string[], span: number): CallerPlan[] {
  const fairness = random.pick(['process', 'process', 'process', 'strict', 'mixed'] as const);
  const ttls = random.pick([[50], [200], [1_000], [30_000], [50, 5_000], [200, 1_000, 5_000]]);
  return Array.from({ length: random.int(2, 8) }, () => {
    const fair = fairness === 'mixed' ? random.pick(['process', 'strict'] as const) : fairness;
    const ttlMs = random.pick(ttls);
    return {
      at: random.between(0, span),
      process: random.int(0, processes - 1),
      key: random.pick(keys),
      options: options(random, ttlMs, fair),
      holdMs: random.pick([0, random.between(0, 10), random.between(0, 10), random.between(0, 500), overlong(ttlMs)]),
      ...(random.chance(0.12) ? { abortAfterMs: random.between(0, random.pick([5, 500])) } : {}),
      ...(random.chance(0.1)
        ? { extend: { afterMs: random.between(0, 100), ttlMs: Math.ceil(ttlMs * random.between(1, 3)) } }
        : {}),
      rounds: random.pick([1, 1, 2, 3]),
      gapMs: random.pick([0, 0, random.between(0, 20)]),
      scoped: random.chance(0.3),
    };
  });
}

function options(random: Random, ttlMs: number, fair: 'process' | 'strict'): ResolvedLockOptions {
  const renew = random.chance(0.8);
  const minHoldMs = random.chance(0.08) ? random.int(20, renew ? 1_500 : ttlMs) : 0;
  return {
    ...LOCK_DEFAULTS,
    ttlMs,
    waitMs: random.pick([0, random.int(1, 2_000), PATIENT_MS, PATIENT_MS, PATIENT_MS]),
    renew,
    maxHoldMs: random.chance(0.08) ? minHoldMs + random.int(50, 2_000) : Infinity,
    minHoldMs,
    fair,
    release: random.chance(0.06) ? 'expire' : 'end',
  };
}

function crowd(random: Random, processes: number): CallerPlan[] {
  const usual = { ...LOCK_DEFAULTS, ttlMs: 1_000, waitMs: PATIENT_MS };
  return Array.from({ length: random.int(20, 30) }, (_, i) => ({
    at: random.between(0, 3),
    process: i % 8 === 0 ? processes - 1 : 0,
    key: 'a',
    options: usual,
    holdMs: random.pick([0, 0.2]),
    rounds: random.int(1, 2),
    gapMs: 0,
    scoped: false,
  }));
}

function faults(random: Random, { faults: kinds, most }: Weather, processes: number, keys: string[], span: number) {
  if (most === 0) return [];
  return Array.from({ length: random.int(1, most) }, (): FaultPlan => ({
    kind: random.pick(kinds),
    at: random.between(0, random.pick([span, span + 300])),
    process: random.int(0, processes - 1),
    key: random.pick(keys),
    ms: random.between(0, random.pick([20, 300, 4_000])),
  }));
}
