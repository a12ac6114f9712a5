import { isLockError } from '../errors.js';
import type { LockEvent, LockEvents } from '../events.js';
import type { LockLog } from './door.js';

/** A server whose connection fails again and again gets one warning in this time. */
const REPORT_MS = 60_000;

/** What the log knows of one server. */
interface ServerOutage {
  failedBefore: number;
  warnedAt: number;
  /** The last line about the server is a warning. */
  warned: boolean;
  /** Outages without a line since the last warning. */
  unreported: number;
  timer: NodeJS.Timeout | undefined;
}

/** Logs one warning when the connection to a server fails, and one line when it works again. */
export class ConnectionLog {
  private readonly outages = new Map<string, ServerOutage>();
  private failedCalls = 0;

  private constructor(private readonly logger: LockLog) {}

  static listen(events: LockEvents, logger: LockLog): void {
    const log = new ConnectionLog(logger);
    events.listen(({ error }) => {
      if (isLockError(error, 'LOCK_UNAVAILABLE')) log.failedCalls += 1;
    }, 'refused');
    events.listen((event) => log.disconnected(event), 'disconnected');
    events.listen((event) => log.reconnected(event), 'reconnected');
  }

  private disconnected({ name, error }: LockEvent): void {
    let outage = this.outages.get(name);
    if (outage === undefined) {
      outage = { failedBefore: 0, warnedAt: -Infinity, warned: false, unreported: 0, timer: undefined };
      this.outages.set(name, outage);
    }
    outage.failedBefore = this.failedCalls;
    const delayMs = outage.warnedAt + REPORT_MS - performance.now();
    if (delayMs <= 0) return this.warn(outage, error);
    clearTimeout(outage.timer);
    outage.timer = setTimeout(() => this.warn(outage, error), delayMs).unref();
  }

  private warn(outage: ServerOutage, error: Error | undefined): void {
    const { unreported } = outage;
    const before = unreported === 0 ? '' : ` It failed ${unreported} times more since the last report.`;
    this.logger.warn(`${error?.message}${before}`);
    Object.assign(outage, { warned: true, warnedAt: performance.now(), unreported: 0 });
  }

  private reconnected({ name, outageMs = 0 }: LockEvent): void {
    const outage = this.outages.get(name);
    if (outage === undefined) return;
    clearTimeout(outage.timer);
    if (!outage.warned) return void (outage.unreported += 1);
    outage.warned = false;
    const failed = this.failedCalls - outage.failedBefore;
    this.logger.log(
      `The connection to ${name} works again after ${(outageMs / 1_000).toFixed(1)} s; ` +
        `${failed} ${failed === 1 ? 'call' : 'calls'} failed with LOCK_UNAVAILABLE.`,
    );
  }
}
