import { setTimeout as sleep } from 'node:timers/promises';

import { isLockError } from '../../../libs/distribute-lock/src/errors.js';
import type { Lease } from '../../../libs/distribute-lock/src/engine/lease/lease.js';
import type { AcquireOptions } from '../../../libs/distribute-lock/src/options/lock-options.js';
import type { LockKind } from '../../../libs/distribute-lock/src/store/lock-store.js';
import { Random } from '../../simulation/random.js';
import { Inside } from './inside.js';
import type { Locks } from './lock-engine.js';
import { monotonicMs } from '../../support/monotonic.js';

const PERMITS = 3;
const KINDS = {
  exclusive: ['exclusive'],
  readable: ['read', 'write', 'exclusive'],
  permits: ['semaphore'],
} as const;
const GROUPS = ['exclusive', 'readable', 'permits'] as const;
/** Number of keys in each group. */
const KEYS = 40;
/** Number of keys in each group that are requested more often. */
const FEW_KEYS = 3;

export interface JumblePlan {
  readonly callers: number;
  readonly forMs: number;
  /** Continues after `forMs` until this number of calls has been granted, because a busy machine serves fewer. */
  readonly atLeast: number;
  /** A quorum supports exclusive locks only. */
  readonly exclusiveOnly?: boolean;
}

interface Wish {
  readonly keys: readonly string[];
  readonly options: AcquireOptions & { readonly kind: LockKind; readonly wait: number };
}

/** Concurrent callers that ask for locks of all kinds, of one key and of several keys, with all options. */
export class Jumble {
  readonly inside = new Inside(PERMITS);
  /** How calls ended: `granted`, or the code of the error. */
  readonly ends = new Map<string, number>();
  /** The longest time that a call took in addition to its `wait`. */
  lateMs = 0;

  constructor(private readonly plan: JumblePlan) {}

  async run(engines: readonly Locks[]): Promise<void> {
    const until = monotonicMs() + this.plan.forMs;
    const caller = async (_: unknown, i: number): Promise<void> => {
      const random = new Random(i);
      while (monotonicMs() < until || this.granted < this.plan.atLeast)
        await this.call(engines[i % engines.length], this.wish(random), random);
    };
    await Promise.all(Array.from({ length: this.plan.callers }, caller));
  }

  get granted(): number {
    return this.ends.get('granted') ?? 0;
  }

  /** Every key that a caller may have requested. */
  get keys(): readonly string[] {
    return GROUPS.flatMap((group) => Array.from({ length: KEYS }, (_, i) => `${group}-${i + 1}`));
  }

  private async call(locks: Locks, { keys, options }: Wish, random: Random): Promise<void> {
    const startedAt = monotonicMs();
    const leaves = new AbortController();
    if (random.chance(0.1)) setTimeout(() => leaves.abort(), random.int(0, 20));
    const wish = { ...options, signal: leaves.signal };
    let lease: Lease;
    try {
      lease = keys.length > 1 ? await locks.acquireMultiKey(keys, wish) : await locks.acquire(keys[0], wish);
      this.count('granted');
    } catch (error) {
      this.count(isLockError(error) ? error.code : String(error));
      return;
    } finally {
      this.lateMs = Math.max(this.lateMs, monotonicMs() - startedAt - options.wait);
    }
    const guest = { lease, kind: options.kind, weight: options.weight ?? 1 };
    this.inside.enter(guest);
    if (random.chance(0.7)) await sleep(random.int(0, 2));
    if (random.chance(0.05)) await lease.extend().catch((error: Error) => this.extended(error));
    this.inside.leave(guest);
    const released = lease.release();
    if (random.chance(0.5)) await released;
  }

  private wish(random: Random): Wish {
    const group = this.plan.exclusiveOnly || random.chance(0.5) ? 'exclusive' : random.pick(GROUPS);
    const key = (): string => `${group}-${random.int(1, random.chance(0.3) ? FEW_KEYS : KEYS)}`;
    const strict = group === 'exclusive' && !this.plan.exclusiveOnly && random.chance(0.2);
    return {
      keys: Array.from({ length: random.chance(0.15) ? random.int(2, 3) : 1 }, key),
      options: {
        kind: random.pick(KINDS[group]),
        ttl: random.pick([700, 2_000, 30_000]),
        wait: random.pick([0, 0, 0, 5, 50, 5_000]),
        fair: strict ? 'strict' : 'process',
        ...(group === 'permits' ? { permits: PERMITS, weight: random.int(1, 2) } : {}),
      },
    };
  }

  /** A lost lease cannot be extended, so these errors are expected. */
  private extended(error: Error): void {
    if (!isLockError(error, 'LEASE_LOST', 'LOCK_UNAVAILABLE')) this.count(String(error));
  }

  private count(end: string): void {
    this.ends.set(end, (this.ends.get(end) ?? 0) + 1);
  }
}
