import type { CancelTimer, Clock } from './clock.js';

/** The longest delay that a timer of the runtime keeps. */
export const LONGEST_MS = 2 ** 31 - 1;

/** Something that is due once. It stands in at most one lane. */
export abstract class Timed {
  /** @internal */ dueAt = 0;
  /** @internal */ lane: Lane | undefined = undefined;
  /** @internal */ earlier: Timed | undefined = undefined;
  /** @internal */ later: Timed | undefined = undefined;

  /** Called once when the time has come, unless it was removed before. */
  abstract due(): void;

  /**
   * Called in the place of `due` when the lanes are closed; nothing need be done where nobody waits for it.
   * @param _stood - it stood in a lane then; else it has come too late
   */
  forgotten(_stood: boolean): void {}
}

/** Everything that waits for the same length of time: due in the order of arrival, so the first is always the next. */
interface Lane {
  readonly delayMs: number;
  first: Timed | undefined;
  last: Timed | undefined;
}

/**
 * Any number of timeouts on one timer of the runtime. Adding and removing take constant time,
 * which a timer per lock would not: hundreds of thousands of leases share a few lengths.
 */
export class TimerLanes {
  private readonly lanes = new Map<number, Lane>();
  private armedFor = Infinity;
  private cancel: CancelTimer | undefined;
  private closed = false;

  constructor(private readonly clock: Clock) {}

  /**
   * Calls `entry.due()` after `delayMs`, rounded up to whole milliseconds. An entry that stands already is moved.
   * @param now - for callers that have just looked at the clock
   */
  add(entry: Timed, delayMs: number, now = this.clock.now()): void {
    this.remove(entry);
    if (this.closed) return entry.forgotten(false);
    const whole = Math.max(0, Math.ceil(delayMs));
    const lane = this.lane(whole);
    // A whole number: the runtime keeps it in place, where a fraction would cost an object for each entry.
    entry.dueAt = Math.ceil(now) + whole;
    entry.lane = lane;
    entry.earlier = lane.last;
    if (lane.last === undefined) lane.first = entry;
    else lane.last.later = entry;
    lane.last = entry;
    if (entry.dueAt < this.armedFor) this.arm(entry.dueAt, now);
  }

  /** Harmless when the entry does not stand here. */
  remove(entry: Timed): void {
    const { lane, earlier, later } = entry;
    if (lane === undefined) return;
    if (earlier === undefined) lane.first = later;
    else earlier.later = later;
    if (later === undefined) lane.last = earlier;
    else later.earlier = earlier;
    entry.lane = entry.earlier = entry.later = undefined;
    if (lane.first === undefined && this.lanes.size > 16) this.lanes.delete(lane.delayMs);
  }

  /** Forgets everything, what is added from now on as well; nothing is due any more. */
  close(): void {
    this.closed = true;
    this.cancel?.();
    this.cancel = undefined;
    this.armedFor = Infinity;
    for (const lane of this.lanes.values()) {
      for (let entry = lane.first; entry !== undefined; entry = lane.first) {
        this.remove(entry);
        entry.forgotten(true);
      }
    }
    this.lanes.clear();
  }

  private lane(delayMs: number): Lane {
    let lane = this.lanes.get(delayMs);
    if (lane === undefined) {
      lane = { delayMs, first: undefined, last: undefined };
      this.lanes.set(delayMs, lane);
    }
    return lane;
  }

  private arm(at: number, now: number): void {
    this.cancel?.();
    this.armedFor = at;
    this.cancel = this.clock.after(Math.min(Math.max(0, Math.ceil(at - now)), LONGEST_MS), () => this.fire());
  }

  private fire(): void {
    this.cancel = undefined;
    this.armedFor = Infinity;
    const now = this.clock.now();
    let next = Infinity;
    for (const lane of [...this.lanes.values()]) {
      while (lane.first !== undefined && lane.first.dueAt <= now) {
        const entry = lane.first;
        this.remove(entry);
        entry.due();
      }
      if (lane.first !== undefined && lane.first.dueAt < next) next = lane.first.dueAt;
    }
    if (next < this.armedFor) this.arm(next, this.clock.now());
  }
}
