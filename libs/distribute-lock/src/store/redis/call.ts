import { Timed } from '../../runtime/timer-lanes.js';
import type { Command } from './command.js';

/** Commands that are sent together and wait for the same answer. */
export class Call extends Timed {
  settled = false;
  /** It was written, so it may have reached the server. */
  sent = false;
  /** The script was told to count fencing tokens up. */
  counted = false;

  constructor(
    readonly commands: readonly Command[],
    readonly startedAt: number,
    /** How long its answer may take. */
    readonly limitMs: number,
    /** Of the connection at the start. */
    readonly epoch: number,
    /** It has waited for its answer for too long. */
    private readonly late: (call: Call) => void,
  ) {
    super();
  }

  due(): void {
    this.late(this);
  }

  /** Its answer is waited for no longer, also where the client stays open; who sends it afterwards is left to the client. */
  override forgotten(stood: boolean): void {
    if (stood) this.late(this);
  }
}
