import type { CancelTimer, Clock } from './clock.js';

/** The longest delay that a timer of the runtime supports. */
export const LONGEST_MS = 2 ** 31 - 1;

/** An entry that is due once. It is in at most one lane. */
export abstract class Timed {
  /** @internal */ dueAt = 0;
  /** @internal */ lane: Lane | undefined = undefined;
  /** @internal */ earlier: Timed | undefined = undefined;
  /** @internal */ later: Timed | undefined = undefined;

  /** Called once when the time has come, unless the entry was removed. */
  abstract due(): void;

  /**
   * Called instead of `due` when the lanes are closed. The default suits entries that no caller waits for.
   * @param _stood - whether the entry was in a lane; otherwise it was added after the close
   */
  forgotten(_stood: boolean): void {}
}

/** Entries with the same delay. They are due in order of arrival, so the first is always the next. */
interface Lane {
  readonly delayMs: number;
  first: Timed | undefined;
  last: Timed | undefined;
}

/**
 * Multiplexes all timeouts of a process on one timer of the runtime. Adding and removing an entry takes constant time, because
 * hundreds of thousands of leases share a few delays.
 */
export class TimerLanes {
  private readonly lanes = new Map<number, Lane>();
  private armedFor = Infinity;
  private cancel: CancelTimer | undefined;
  private closed = false;

  constructor(private readonly clock: Clock) {}

  /**
   * Calls `entry.due()` after `delayMs`, rounded up to whole milliseconds. Moves an entry that is in a lane already.
   * @param now - the present time, if the caller has just read the clock
   */
  add(entry: Timed, delayMs: number, now = this.clock.now()): void {
    this.remove(entry);
    if (this.closed) return entry.forgotten(false);
    const whole = Math.max(0, Math.ceil(delayMs));
    const lane = this.lane(whole);
    // The runtime stores a whole number in place; a fraction would need a heap object for each entry.
    entry.dueAt = Math.ceil(now) + whole;
    entry.lane = lane;
    entry.earlier = lane.last;
    if (lane.last === undefined) lane.first = entry;
    else lane.last.later = entry;
    lane.last = entry;
    if (entry.dueAt < this.armedFor) this.arm(entry.dueAt, now);
  }

  /** Does nothing if the entry is in no lane. */
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

  /** Discards all entries, and all entries added later; none of them becomes due. */
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
