import type { Holder } from './lease/grant.js';
import { LeaseHandle } from './lease/lease-handle.js';
import type { LockCall } from './lease/lock-call.js';
import { type RetryAfter, retryAfterMs } from '../options/retry-after.js';
import type { Clock } from '../runtime/clock.js';
import { KeptHold } from './kept-leases.js';
import type { KeyState } from './key-state.js';

/** Remembered holds per name: enough for a median, and few enough to follow changes of the work. */
const MOST_HOLDS = 15;

/** Recent hold times of each name. Memory is bounded, because a process has a limited number of names. */
export class HoldTimes {
  private readonly byName = new Map<string, number[]>();

  record(name: string, heldMs: number): void {
    const holds = this.byName.get(name);
    if (holds === undefined) return void this.byName.set(name, [heldMs]);
    if (holds.length === MOST_HOLDS) holds.shift();
    holds.push(heldMs);
  }

  /**
   * The expected rest of a hold that has lasted for `ageMs`: the median of the longer holds of this name, minus `ageMs`.
   * `undefined` without an observation.
   */
  remainingMs(name: string, ageMs = 0): number | undefined {
    const longer = this.byName.get(name)?.filter((heldMs) => heldMs > ageMs || ageMs === 0) ?? [];
    if (longer.length === 0) return undefined;
    return longer.sort((one, other) => one - other)[longer.length >> 1] - ageMs;
  }
}

/** The estimate for a name without an observed hold. */
const UNKNOWN_MS = 1_000;

/** Estimates when a refused caller should retry. */
export class WaitEstimates {
  constructor(
    private readonly clock: Clock,
    private readonly holds: HoldTimes,
    private readonly option: RetryAfter | undefined,
  ) {}

  /**
   * @param leftMs - the rest of the lease in front of the caller, -1 when unknown; the estimate never exceeds it
   * @param state - the state of the key in this process, if its own holders may be in front
   */
  of({ name, key, options: { kind } }: LockCall, leftMs: number, state?: KeyState): number {
    const remainingMs = leftMs >= 0 ? leftMs : undefined;
    const expectedMs = this.ofHolders(state) ?? this.holds.remainingMs(name) ?? UNKNOWN_MS;
    const estimateMs = Math.max(1, Math.ceil(Math.min(expectedMs, remainingMs ?? Infinity)));
    return retryAfterMs(this.option, { name, key, kind, remainingMs, estimateMs });
  }

  /** When the first holder of this process is expected to end. */
  private ofHolders(state: KeyState | undefined): number | undefined {
    const expected = (state?.grants() ?? []).flatMap(({ holder }) => this.ofHolder(holder) ?? []);
    return expected.length === 0 ? undefined : Math.min(...expected);
  }

  private ofHolder(holder: Holder | undefined): number | undefined {
    if (holder instanceof KeptHold) return holder.renewUntil - this.clock.now();
    return holder instanceof LeaseHandle ? this.holds.remainingMs(holder.call.name, holder.heldMs) : undefined;
  }
}
