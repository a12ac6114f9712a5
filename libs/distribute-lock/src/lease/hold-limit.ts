import { Timed, type TimerLanes } from '../runtime/timer-lanes.js';

/** A hold with `maxHold` ends so much earlier, besides the share of its lease that cannot be proven: its lease is still valid then. */
const EARLY_MS = 5;
const EARLY_SHARE = 0.01;

/** When a hold that began at `startedAt` ends, at the latest. */
export const holdEnd = (startedAt: number, maxHoldMs: number, ttlMs: number): number =>
  maxHoldMs === Infinity
    ? Infinity
    : startedAt + maxHoldMs - EARLY_MS - Math.ceil(EARLY_SHARE * Math.min(ttlMs, maxHoldMs));

/** Ends the hold of one holder when its `maxHold` has passed. */
export class HoldLimit extends Timed {
  constructor(
    private readonly lanes: TimerLanes,
    endsInMs: number,
    readonly due: () => void,
  ) {
    super();
    lanes.add(this, Math.max(0, Math.floor(endsInMs)));
  }

  cancel(): void {
    this.lanes.remove(this);
  }
}
