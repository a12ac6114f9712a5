import type { Clock } from './clock.js';

/** Steps that may be taken in one turn of the event loop, and for how long. */
const STEPS_A_TURN = 64;
const MS_A_TURN = 1;

/**
 * Lets work that never waits for I/O go on in small portions. A hand-over in memory is a microtask: a flood of them
 * would keep timers and sockets from ever being served.
 */
export class Turn {
  private steps = 0;
  private startedAt = -Infinity;
  private pending: (() => void)[] = [];

  constructor(private readonly clock: Clock) {}

  /** Takes the step now, or in the next turn when this one has had its share. */
  step(action: () => void): void {
    if (this.pending.length === 0 && this.steps < STEPS_A_TURN) {
      this.steps += 1;
      // The first step of a burst sets the start; reading the clock each time would cost more than the step.
      if (this.steps === 1) this.startedAt = this.clock.now();
      if (this.steps % 8 !== 0 || this.clock.now() - this.startedAt < MS_A_TURN) return action();
    }
    this.pending.push(action);
    if (this.pending.length === 1) this.clock.nextTurn(() => this.resume());
  }

  private resume(): void {
    const actions = this.pending;
    this.pending = [];
    this.steps = 0;
    for (const action of actions) action();
  }
}
