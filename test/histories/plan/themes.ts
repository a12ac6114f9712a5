import type { Random } from '../../simulation/random.js';
import type { OperationPlan } from './operation-plan.js';
import type { KeyPlan, WorldPlan } from './world-plan.js';

/** A history with operations, faults or servers that other histories do not have. */
export interface ThemePlan {
  /** Overrides of the settings from the seed. */
  readonly world: Partial<WorldPlan>;
  /** Changes an operation that was drawn as usual. */
  readonly operation: (random: Random, operation: OperationPlan) => OperationPlan;
}

const key = (kind: KeyPlan['kind'], ttlMs: number): KeyPlan => ({
  name: kind,
  kind,
  permits: 2,
  readShare: 0.6,
  ttlMs,
});

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
} satisfies Record<string, ThemePlan>;

export type Theme = keyof typeof THEMES;

export const THEME_NAMES = Object.keys(THEMES) as readonly Theme[];

export const themePlan = (theme: Theme): ThemePlan => THEMES[theme];

function nested(random: Random): NonNullable<OperationPlan['outlasting']>[number] {
  return { holdMs: random.int(0, 150), reads: random.chance(0.3), again: random.chance(0.3) };
}
