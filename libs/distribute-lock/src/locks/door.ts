/** Receives the lines of the log, such as `console`. @public */
export interface LockLog {
  /** Normal events that matter only while an operator looks for a fault. */
  debug(line: string): void;
  /** The end of an outage. */
  log(line: string): void;
  /** What needs the attention of an operator. */
  warn(line: string): void;
}

/** The way in which the application uses the package: its name in messages, and its log. */
export interface Door {
  readonly name: string;
  readonly log: LockLog;
}
