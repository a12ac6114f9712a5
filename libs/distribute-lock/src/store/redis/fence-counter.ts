/** How long numbers may be counted up before they are raised to the server's clock again. */
const COUNTED_MS = 1_000;

/** A question for fencing tokens as it was sent. */
export interface NumbersAsked {
  /** They were to be counted up. */
  readonly counted: boolean;
  /** The connection. */
  readonly epoch: number;
  readonly startedAt: number;
}

/**
 * Whether the server may count fencing tokens up instead of looking at its clock, which costs it less.
 *
 * Counting alone would repeat numbers where the counter has lost some. So it is done only on the very connection on which a
 * command has raised the counter to the clock a moment ago: a counter that is gone answers with a small number, which is not
 * used, and one of a server that has taken over stands behind another connection. (Not in a Cluster, where one client stands
 * for many connections.)
 */
export class FenceCounter {
  private raisedAt = -Infinity;
  private epoch = -1;
  private last = 0;

  /** @param epoch - of the connection on which the command would be sent now */
  mayCount(epoch: number, now: number): boolean {
    return epoch === this.epoch && now - this.raisedAt < COUNTED_MS;
  }

  /**
   * The answer has come, on the connection that is there now.
   * @returns whether its numbers may be used; otherwise the same is asked again, with a look at the clock
   */
  rises({ counted, epoch, startedAt }: NumbersAsked, first: number, block: number, epochNow: number): boolean {
    const sure = epoch === epochNow;
    if (counted && !(sure && epoch === this.epoch && first > this.last)) {
      this.forget();
      return false;
    }
    if (!sure) return true;
    this.last = first + block - 1;
    if (counted) return true;
    this.epoch = epoch;
    this.raisedAt = startedAt;
    return true;
  }

  /** Something went wrong: who knows what the counter has lost. */
  forget(): void {
    this.epoch = -1;
  }
}
