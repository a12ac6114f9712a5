import type { Random } from '../../simulation/random.js';
import type { FaultPlan } from './fault-plan.js';
import type { OperationPlan } from './operation-plan.js';
import type { KeyPlan, WorldPlan } from './world-plan.js';

/** A history with operations, faults or servers that other histories do not have. */
export interface ThemePlan {
  /** Overrides of the settings from the seed. */
  readonly world: Partial<WorldPlan>;
  /** Changes an operation that was drawn as usual. */
  readonly operation: (random: Random, operation: OperationPlan, world: WorldPlan) => OperationPlan;
  /** The settings of a key in one process, where processes differ. */
  readonly keyOf?: (key: KeyPlan, process: number) => KeyPlan;
}

const key = (kind: KeyPlan['kind'], ttlMs: number): KeyPlan => ({
  name: kind,
  kind,
  permits: 2,
  readShare: 0.6,
  ttlMs,
});

/** Longer than twice the longest block. */
const LONG_TTL_MS = 41_000;

/** Far enough apart that most rules apply between them. */
const FAILOVERS: readonly FaultPlan[] = Array.from({ length: 200 }, (_, i) => ({
  name: 'planned-failover',
  afterMs: i === 0 ? 1_500 : 7_000,
  forMs: 0,
  process: 0,
  draw: 0,
}));

const ERRORS: readonly FaultPlan[] = Array.from({ length: 200 }, (_, i) => ({
  name: i % 2 === 0 ? 'passing-errors' : 'refused-publish',
  afterMs: 500,
  forMs: 2_500,
  process: 0,
  draw: 0,
}));

const THEMES = {
  /** Calls inside a lock that their caller does not wait for: reentrant ones, and those of `outsideLocks`. */
  nested: {
    world: {
      callers: 8,
      keys: [key('exclusive', 700), key('read-write', 1_200)],
      calls: ['withLock'],
      severalShare: 0,
      keptShare: 0,
      holdMs: [10, 60],
      gapMs: 40,
    },
    operation: (random, operation) => ({
      ...operation,
      options: { ...operation.options, reentrant: true },
      inner: undefined,
      outlasting: random.chance(0.6) ? Array.from({ length: random.int(1, 3) }, () => nested(random)) : [],
      detached: random.chance(0.2) ? { holdMs: random.int(0, 30) } : undefined,
    }),
  },
  /** The event loop is blocked from the first moment of a hold, for at most half of its `ttl`. */
  blocked: {
    world: {
      processes: 3,
      callers: 6,
      keys: [key('exclusive', LONG_TTL_MS), key('read-write', LONG_TTL_MS), key('semaphore', LONG_TTL_MS)],
      waits: [0, 300, 4_000, 8_000],
      keptShare: 0,
      blockShare: 0,
      blockFirstShare: 0.02,
      holdMs: [20, 80],
      gapMs: 150,
      faults: [],
    },
    operation: (random, operation, { blockFirstShare = 0 }) => ({
      ...operation,
      options: { ...operation.options, ttl: LONG_TTL_MS, renew: true, maxHold: undefined },
      abortAfterMs: undefined,
      blockFirstMs: random.chance(blockFirstShare) ? drawBlock(random) : undefined,
    }),
  },
  /** Planned failovers: open connections stay at the old primary, which answers `READONLY`. */
  failover: {
    world: { processes: 4, callers: 6, waits: [300, 1_500, 2_500], gapMs: 1_200, keptShare: 0, faults: [FAILOVERS] },
    operation: (_, operation) => operation,
  },
  /** A server that answers one script call in ten with an error, or refuses `PUBLISH`, for seconds. */
  errors: {
    world: {
      callers: 8,
      waits: [0, 800, 1_500, 2_500],
      severalShare: 0.05,
      keptShare: 0,
      blockShare: 0,
      gapMs: 1_000,
      faults: [ERRORS],
    },
    operation: (_, operation) => operation,
  },
  /** A rolling deploy: every second process uses a larger number of permits. */
  permits: {
    world: {
      processes: 4,
      callers: 8,
      keys: [key('semaphore', 700), { ...key('semaphore', 1_200), name: 'semaphore-of-3', permits: 3 }],
      severalShare: 0,
      keptShare: 0,
      holdMs: [20, 80],
      gapMs: 100,
    },
    operation: (_, operation) => operation,
    keyOf: (plan, process) => (process % 2 === 0 ? plan : { ...plan, permits: plan.permits + 2 }),
  },
  /** Leases that are detached, and used at any time by several processes: once, again, late, or never. */
  tickets: {
    world: {
      callers: 8,
      keys: [
        key('exclusive', 700),
        { ...key('exclusive', 400), name: 'exclusive-b' },
        key('read-write', 1_200),
        { ...key('semaphore', 700), permits: 4 },
      ],
      calls: ['acquire', 'tryAcquire'],
      severalShare: 0.15,
      keptShare: 0,
      holdMs: [10, 60],
      gapMs: 40,
    },
    operation: (random, operation) => ({
      ...operation,
      options: { ...operation.options, maxHold: undefined },
      downgrades: false,
      detach:
        operation.options.kind !== 'read' && random.chance(0.4)
          ? { ttlMs: random.pick([200, 500, 1_500]), copies: random.int(0, 3) }
          : undefined,
      ticket: random.chance(0.7) ? (random.chance(0.2) ? 'cancel' : 'attach') : undefined,
    }),
  },
} satisfies Record<string, ThemePlan>;

export type Theme = keyof typeof THEMES;

export const THEME_NAMES = Object.keys(THEMES) as readonly Theme[];

export const themePlan = (theme: Theme): ThemePlan => THEMES[theme];

function nested(random: Random): NonNullable<OperationPlan['outlasting']>[number] {
  return { holdMs: random.int(0, 150), reads: random.chance(0.3), again: random.chance(0.3) };
}

/** Mostly short ones, so that a history ends soon, though longer than the claim window and the heartbeat. */
function drawBlock(random: Random): number {
  if (random.chance(0.93)) return random.int(2_000, 3_000);
  return random.chance(0.8) ? random.int(3_000, 8_000) : random.int(8_000, 20_000);
}
