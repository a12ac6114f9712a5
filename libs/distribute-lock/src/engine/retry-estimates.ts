import type { Holder } from './lease/holder.js';
import { LeaseHandle } from './lease/lease-handle.js';
import type { LockCall } from './lease/lock-call.js';
import { type RetryAfter, retryAfterMs } from '../options/retry-after.js';
import type { Clock } from '../runtime/clock.js';
import type { HoldTimes } from './hold-times.js';
import type { KeyQueue } from './key-queue.js';
import { MinHold } from './min-hold.js';

/** The estimate for a name without an observed hold. */
const UNKNOWN_MS = 1_000;

/** Estimates when a refused caller should retry. */
export class RetryEstimates {
  constructor(
    private readonly clock: Clock,
    private readonly holds: HoldTimes,
    private readonly option: RetryAfter | undefined,
  ) {}

  /**
   * @param leftMs - the rest of the lease in front of the caller, -1 when unknown; the estimate never exceeds it
   * @param queue - the queue of this process, if its own holders may be in front
   */
  of({ name, key, options: { kind } }: LockCall, leftMs: number, queue?: KeyQueue): number {
    const remainingMs = leftMs >= 0 ? leftMs : undefined;
    const expectedMs = this.ofHolders(queue) ?? this.holds.remainingMs(name) ?? UNKNOWN_MS;
    const estimateMs = Math.max(1, Math.ceil(Math.min(expectedMs, remainingMs ?? Infinity)));
    return retryAfterMs(this.option, { name, key, kind, remainingMs, estimateMs });
  }

  /** When the first holder of this process is expected to end. */
  private ofHolders(queue: KeyQueue | undefined): number | undefined {
    const expected = (queue?.grants() ?? []).flatMap(({ holder }) => this.ofHolder(holder) ?? []);
    return expected.length === 0 ? undefined : Math.min(...expected);
  }

  private ofHolder(holder: Holder | undefined): number | undefined {
    if (holder instanceof MinHold) return holder.renewUntil - this.clock.now();
    return holder instanceof LeaseHandle ? this.holds.remainingMs(holder.call.name, holder.heldMs) : undefined;
  }
}
