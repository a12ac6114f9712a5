/** How exactly a history knows its times. All times are in milliseconds. */
export interface Precision {
  /** Standstills up to this length are not known, or the bounds of the rules allow for them. */
  readonly standstillMs: number;
  /** Event loops and networks delay a call by so much without a record. */
  readonly slackMs: number;
  /** An aborted wait ends within this time. */
  readonly abortsMs: number;
  /** A lease is measured with this error. */
  readonly leaseMs: number;
  /** A timer fires this early. */
  readonly earlyMs: number;
  /** A lease begins this long before its holder records it. */
  readonly beginsMs: number;
  /** Without faults, a waiter gets a free lock within this time. */
  readonly servedMs: number;
  /** With faults, a waiter gets a free lock within this time. */
  readonly servedInTroubleMs: number;
  /** A process sees an executed release, or its message, within this time. */
  readonly answerMs: number;
  /** Grants of one process within this time may be observed in either order. */
  readonly seenMs: number;
  /** Whether every process receives messages, so that processes are served in turn. */
  readonly inTurn: boolean;
  /** Whether processes may have more callers than places in the queue for permits. */
  readonly queuesAgain: boolean;
  /** Whether the time of faults does not count for waiters, because the faults may last for any time. */
  readonly faultsStop: boolean;
}

/** Of real processes on a busy machine. */
export const MEASURED: Precision = {
  standstillMs: 60,
  slackMs: 100,
  abortsMs: 350,
  leaseMs: 50,
  earlyMs: 2,
  beginsMs: 25,
  servedMs: 1_000,
  servedInTroubleMs: 3_000,
  answerMs: 100,
  seenMs: 50,
  inTurn: true,
  queuesAgain: false,
  faultsStop: false,
};
