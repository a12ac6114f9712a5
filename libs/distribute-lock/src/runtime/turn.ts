import type { Clock } from './clock.js';

/** Limits for one turn of the event loop: number of steps, and milliseconds. */
const STEPS_A_TURN = 64;
const MS_A_TURN = 1;

/**
 * Splits work that never waits for I/O into small portions. A local hand-over is a microtask, and an endless series of
 * microtasks would block timers and sockets.
 */
export class Turn {
  private steps = 0;
  private startedAt = -Infinity;
  private pending: (() => void)[] = [];

  constructor(private readonly clock: Clock) {}

  /** Runs the step now, or in the next turn if this turn is used up. */
  step(action: () => void): void {
    if (this.pending.length === 0 && this.steps < STEPS_A_TURN) {
      this.steps += 1;
      // The first step of a burst sets the start; reading the clock at every step would cost more than the step.
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
