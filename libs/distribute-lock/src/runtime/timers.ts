import type { CancelTimer, Clock } from './clock.js';

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

/** Timers with the same delay. They are due in order of arrival, so the first is always the next. */
interface Delay {
  readonly ms: number;
  first: Timer | undefined;
  last: Timer | undefined;
}

/**
 * Multiplexes all timeouts of a process on one timer of the runtime. Adding and removing a timer takes constant time, because
 * hundreds of thousands of leases share a few delays.
 */
export class Timers {
  private readonly delays = new Map<number, Delay>();
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
    const delay = this.delay(whole);
    // The runtime stores a whole number in place; a fraction would need a heap object for each timer.
    timer.dueAt = Math.ceil(now) + whole;
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
    if (earlier === undefined) delay.first = later;
    else earlier.later = later;
    if (later === undefined) delay.last = earlier;
    else later.earlier = earlier;
    timer.delay = timer.earlier = timer.later = undefined;
    if (delay.first === undefined && this.delays.size > 16) this.delays.delete(delay.ms);
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
  }

  private delay(ms: number): Delay {
    let delay = this.delays.get(ms);
    if (delay === undefined) {
      delay = { ms, first: undefined, last: undefined };
      this.delays.set(ms, delay);
    }
    return delay;
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
    for (const delay of [...this.delays.values()]) {
      while (delay.first !== undefined && delay.first.dueAt <= now) {
        const timer = delay.first;
        this.remove(timer);
        timer.due();
      }
      if (delay.first !== undefined && delay.first.dueAt < next) next = delay.first.dueAt;
    }
    if (next < this.armedFor) this.arm(next, this.clock.now());
  }
}
