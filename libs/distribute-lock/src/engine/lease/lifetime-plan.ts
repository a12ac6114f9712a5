import { MIN_TTL_MS, type ResolvedLockOptions } from '../../options/lock-options.js';
import type { CancelTimer, Clock } from '../../runtime/clock.js';
import { Timer, type Timers } from '../../runtime/timers.js';
import { surelyOverMs } from './grant.js';

/**
 * How long a lease lasts and what happens at its end: one plan for `ttl`, `renew`, `maxHold`, `minHold` and `release`.
 * Durations count from the start of the lease, in milliseconds; `Infinity` means without limit.
 */
export interface LifetimePlan {
  /** The ttl that the store is asked for. A crashed holder blocks the key no longer than `maxHold`. */
  readonly ttlMs: number;
  /** Whether the watchdog renews the lease. */
  readonly renew: boolean;
  /** Renewal stops after this time. */
  readonly renewForMs: number;
  /** The work loses the lease after this time, a little before `maxHold` has passed. */
  readonly holdForMs: number;
  /** The key stays held for this time, even if the work ends earlier; 0 for never. */
  readonly keepForMs: number;
  /** The key is left to its ttl only if the ttl lasts at least this long. */
  readonly minHoldMs: number;
  /** What happens when the lease ends: the key is released, or expires by its ttl. */
  readonly atEnd: 'release' | 'expire';
  /** The lease needs its whole ttl when it begins, because it ends by its ttl. */
  readonly needsWholeTtl: boolean;
  /** The ttl ends no earlier than `maxHold`, so `maxHold` is the cause of that end. */
  readonly maxHoldEndsTtl: boolean;
}

/**
 * A hold with `maxHold` ends this much early, plus the share of its lease that cannot be proven. Its lease is still valid at that
 * moment.
 */
const HOLD_EARLY_MS = 5;
const HOLD_EARLY_SHARE = 0.01;
/** A busy process runs its timers late, so a long hold ends earlier by this share of `maxHold`, up to the limit. */
const LATE_TIMER_SHARE = 0.02;
const LATE_TIMER_LIMIT_MS = 20;

const earlyMs = (maxHoldMs: number, ttlMs: number): number =>
  HOLD_EARLY_MS +
  Math.ceil(HOLD_EARLY_SHARE * Math.min(ttlMs, maxHoldMs)) +
  Math.min(LATE_TIMER_LIMIT_MS, Math.floor(LATE_TIMER_SHARE * maxHoldMs));

const plans = new WeakMap<ResolvedLockOptions, LifetimePlan>();
let lastOptions: ResolvedLockOptions | undefined;
let lastPlan: LifetimePlan | undefined;

/** The plan of a lease whose work has begun. Calls with the same options share one plan. */
export function planOf(options: ResolvedLockOptions): LifetimePlan {
  if (options === lastOptions) return lastPlan!;
  let plan = plans.get(options);
  if (plan === undefined) plans.set(options, (plan = makePlan(options)));
  lastOptions = options;
  lastPlan = plan;
  return plan;
}

/**
 * The plan of a lease of a multi-key call that still waits for other keys. No work has begun, so the lease is always renewed, and
 * its release ignores `minHold`.
 */
export function planBeforeWork(options: ResolvedLockOptions): LifetimePlan {
  return {
    ...planOf(options),
    renew: true,
    renewForMs: Infinity,
    holdForMs: Infinity,
    keepForMs: 0,
    atEnd: 'release',
  };
}

function makePlan({ ttlMs: requestedMs, renew, maxHoldMs, minHoldMs, release }: ResolvedLockOptions): LifetimePlan {
  const expires = release === 'expire';
  const ttlMs = expires || maxHoldMs >= requestedMs ? requestedMs : Math.max(MIN_TTL_MS, maxHoldMs);
  return {
    // The runtime may store the number of an option like a fraction, which would take memory in every grant.
    ttlMs: Math.floor(ttlMs),
    renew,
    renewForMs: maxHoldMs,
    holdForMs: maxHoldMs === Infinity ? Infinity : maxHoldMs - earlyMs(maxHoldMs, ttlMs),
    keepForMs: expires ? Math.max(minHoldMs, surelyOverMs(ttlMs)) : minHoldMs,
    minHoldMs,
    atEnd: expires ? 'expire' : 'release',
    needsWholeTtl: !renew || expires,
    maxHoldEndsTtl: maxHoldMs <= ttlMs,
  };
}

/** Ends the hold of one holder when the plan says so, also after shutdown has closed the shared timers. */
export class HoldLimit extends Timer {
  private cancelOwn: CancelTimer | undefined = undefined;

  constructor(
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly endsAt: number,
    readonly due: () => void,
  ) {
    super();
    timers.add(this, this.leftMs);
  }

  private get leftMs(): number {
    return Math.max(0, Math.floor(this.endsAt - this.clock.now()));
  }

  override forgotten(): void {
    this.cancelOwn = this.clock.after(this.leftMs, this.due);
  }

  cancel(): void {
    this.timers.remove(this);
    this.cancelOwn?.();
  }
}
