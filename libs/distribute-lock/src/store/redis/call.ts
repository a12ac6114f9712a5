import { Timer } from '../../runtime/timers.js';
import type { Command } from './command.js';

/** Commands that are sent in one script call and share its answer. */
export class Call extends Timer {
  settled = false;
  /** The call was written, so it may have reached the server. */
  sent = false;
  /** The script may increment the fencing counter without reading the clock. */
  counted = false;

  constructor(
    readonly commands: readonly Command[],
    readonly startedAt: number,
    /** Limit for the answer. */
    readonly limitMs: number,
    /** Epoch of the connection when the call started. */
    readonly epoch: number,
    /** Called when the limit for the answer has passed. */
    private readonly late: (call: Call) => void,
  ) {
    super();
  }

  due(): void {
    this.late(this);
  }

  /** Fails the call when the timers close, even if the client stays open and sends it later. */
  override forgotten(stood: boolean): void {
    if (stood) this.late(this);
  }
}
