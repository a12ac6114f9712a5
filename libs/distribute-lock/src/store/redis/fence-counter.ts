/** Time for which the counter may be incremented before it is set to the server's clock again. */
const COUNTED_MS = 1_000;

/** A sent command that requests fencing tokens. */
export interface BlockRequest {
  /** The script may increment the counter. */
  readonly counted: boolean;
  /** Epoch of the connection. */
  readonly epoch: number;
  readonly startedAt: number;
}

/**
 * Decides whether the script may increment the fencing counter instead of reading the clock, which is cheaper.
 *
 * Increments alone would repeat numbers after the counter was lost. They are therefore allowed only on the connection
 * on which a recent command has set the counter to the clock. A lost counter answers with a small number, which is
 * rejected. A server that has taken over is on another connection. A Cluster never increments, because one client uses
 * many connections.
 */
export class FenceCounter {
  private raisedAt = -Infinity;
  private epoch = -1;
  private last = 0;

  /** @param counts - whether increments are allowed at all: one server answers for as long as a connection is open */
  constructor(private readonly counts = true) {}

  /** @param epoch - epoch of the connection that sends the command */
  mayCount(epoch: number, now: number): boolean {
    return this.counts && epoch === this.epoch && now - this.raisedAt < COUNTED_MS;
  }

  /**
   * Checks the numbers of an answer. `epochNow` is the epoch of the present connection.
   * @returns whether the numbers may be used; otherwise the command is repeated and reads the clock
   */
  rises({ counted, epoch, startedAt }: BlockRequest, first: number, block: number, epochNow: number): boolean {
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

  /** Requires the clock for the next command, because the counter may be lost. */
  forget(): void {
    this.epoch = -1;
  }
}
