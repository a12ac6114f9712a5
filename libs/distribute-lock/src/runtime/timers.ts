import type { CancelTimer, Clock } from './clock.js';
import { DueHeap, type Due } from './due-heap.js';

/** The longest delay of a timer of Node, in milliseconds (about 24.8 days). */
export const LONGEST_MS = 2 ** 31 - 1;

/** A callback that is due once. */
export abstract class Timer {
  /** @internal */ dueAt = 0;
  /** @internal */ delay: Delay | undefined = undefined;
  /** @internal */ earlier: Timer | undefined = undefined;
  /** @internal */ later: Timer | undefined = undefined;

  /** Whether the timer waits to become due. */
  get isScheduled(): boolean {
    return this.delay !== undefined;
  }

  /** Called once when the time has come, unless the timer was removed. */
  abstract due(): void;

  /**
   * Called instead of `due` when the timers are closed. The default suits timers that no caller waits for.
   * @param _wasScheduled - `false` if the timer was added after the close
   */
  forgotten(_wasScheduled: boolean): void {}
}

/** Calls a function when it is due. */
export class Alarm extends Timer {
  constructor(readonly due: () => void) {
    super();
  }
}

/** Calls its function when it is due, and also when the timers are closed, so that the wait ends in both cases. */
export class Deadline extends Alarm {
  override forgotten(): void {
    this.due();
  }
}

/**
 * Timers with the same delay. They are due in order of arrival, so the first is always the next. `dueAt` is never later than
 * that of the first timer.
 */
interface Delay extends Due {
  readonly ms: number;
  first: Timer | undefined;
  last: Timer | undefined;
}

/** Of two timers that are due at the same time, the one with the longer delay was added first. */
const isBefore = (a: Delay, b: Delay): boolean => a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.ms > b.ms);

/** Lists of delays that stay when they are empty, because they are probably used again. */
const MOST_EMPTY = 16;

/**
 * Multiplexes all timeouts of a process on one timer of the runtime. Adding and removing a timer takes constant time when its
 * delay is in use, because hundreds of thousands of leases share a few delays. Otherwise it takes logarithmic time.
 */
export class Timers {
  private readonly delays = new Map<number, Delay>();
  private readonly heap = new DueHeap(isBefore);
  private armedFor = Infinity;
  private cancel: CancelTimer | undefined;
  private closed = false;

  constructor(private readonly clock: Clock) {}

  /**
   * Calls `timer.due()` after `delayMs`, rounded up to whole milliseconds. Moves a timer that is already scheduled.
   * @param now - the present time, if the caller has just read the clock
   */
  add(timer: Timer, delayMs: number, now = this.clock.now()): void {
    this.remove(timer);
    if (this.closed) return timer.forgotten(false);
    const whole = Math.max(0, Math.ceil(delayMs));
    // The runtime stores a whole number in place; a fraction would need a heap object for each timer.
    timer.dueAt = Math.ceil(now) + whole;
    const delay = this.delay(whole, timer.dueAt);
    timer.delay = delay;
    timer.earlier = delay.last;
    if (delay.last === undefined) delay.first = timer;
    else delay.last.later = timer;
    delay.last = timer;
    if (timer.dueAt < this.armedFor) this.arm(timer.dueAt, now);
  }

  /** Does nothing if the timer is not scheduled. */
  remove(timer: Timer): void {
    const { delay } = timer;
    if (delay === undefined) return;
    const { earlier, later } = timer;
    timer.delay = undefined;
    // An absent link is undefined already, so it is not stored. Timers have many classes, so each store looks up its field.
    if (earlier === undefined) delay.first = later;
    else {
      earlier.later = later;
      timer.earlier = undefined;
    }
    if (later === undefined) delay.last = earlier;
    else {
      later.earlier = earlier;
      timer.later = undefined;
    }
    if (delay.first === undefined && this.delays.size > MOST_EMPTY) this.drop(delay);
  }

  /** Discards all timers, and all timers added later; none of them becomes due. */
  close(): void {
    this.closed = true;
    this.cancel?.();
    this.cancel = undefined;
    this.armedFor = Infinity;
    for (const delay of this.delays.values()) {
      for (let timer = delay.first; timer !== undefined; timer = delay.first) {
        this.remove(timer);
        timer.forgotten(true);
      }
    }
    this.delays.clear();
    this.heap.clear();
  }

  private delay(ms: number, dueAt: number): Delay {
    let delay = this.delays.get(ms);
    if (delay === undefined) {
      delay = { ms, dueAt, heapIndex: -1, first: undefined, last: undefined };
      this.delays.set(ms, delay);
      this.heap.add(delay);
    } else if (delay.first === undefined && dueAt < delay.dueAt) {
      // The caller has read the clock before the last timer of the list was added.
      delay.dueAt = dueAt;
      this.heap.moved(delay);
    }
    return delay;
  }

  private drop(delay: Delay): void {
    this.delays.delete(delay.ms);
    this.heap.remove(delay);
  }

  /** The timer that is due next. */
  private next(): Timer | undefined {
    for (let delay = this.heap.first; delay !== undefined; delay = this.heap.first) {
      const { first } = delay;
      if (first === undefined) this.drop(delay);
      else if (first.dueAt <= delay.dueAt) return first;
      else {
        // Earlier timers of the list were removed.
        delay.dueAt = first.dueAt;
        this.heap.moved(delay);
      }
    }
    return undefined;
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
    let timer = this.next();
    for (; timer !== undefined && timer.dueAt <= now; timer = this.next()) {
      this.remove(timer);
      timer.due();
    }
    if (timer !== undefined && timer.dueAt < this.armedFor) this.arm(timer.dueAt, this.clock.now());
  }
}
