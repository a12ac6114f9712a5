import type { Clock } from '../../runtime/clock.js';
import { Timer, type Timers } from '../../runtime/timers.js';
import type { ConnectionListener } from '../lock-store.js';

/** An outage that ends within this time fails no call and is not reported. Its cause usually becomes known earlier. */
const UNREPORTED_MS = 250;
/** Interval of the searches for lost parts. */
const SEARCH_MS = 5_000;

/** Reports each outage of one connection and its end, once each. A Cluster has several parts: its client and each node. */
export class Outage extends Timer {
  private listener: ConnectionListener | undefined;
  private readonly broken = new Set<unknown>();
  private since = 0;
  private reason = '';
  private reported = false;

  constructor(
    private readonly server: string,
    private readonly clock: Clock,
    private readonly timers: Timers,
    private readonly isNeeded: (part: unknown) => boolean,
    /** Looks for the lost parts, without which an idle client may not notice the end of the outage. */
    private readonly search: () => void,
  ) {
    super();
  }

  /** From now on, reports to this listener. The engine, which gets the store, sets it. */
  listen(listener: ConnectionListener): void {
    this.listener = listener;
  }

  /** The part accepts no commands. With `known`, the reason is an error and is reported now. */
  begin(part: unknown, reason: string, known = false): void {
    const begins = this.broken.size === 0;
    this.broken.add(part);
    if (this.reported) return;
    if (begins) this.since = this.clock.now();
    if (begins || known) this.reason = reason;
    if (known) this.due();
    else if (begins) this.timers.add(this, UNREPORTED_MS);
  }

  /** Adds the reason of an outage that has begun. */
  explain(part: unknown, reason: string): void {
    if (this.isBroken(part)) this.begin(part, reason, true);
  }

  /** The part accepts commands again. */
  end(part: unknown): void {
    if (!this.broken.delete(part) || this.broken.size > 0) return;
    this.timers.remove(this);
    if (this.reported) this.listener?.reconnected(this.server, this.clock.now() - this.since);
    this.reported = false;
  }

  isBroken(part: unknown): boolean {
    return this.broken.has(part);
  }

  /** Drops the parts that are no longer needed. */
  recheck(): void {
    for (const part of [...this.broken]) if (!this.isNeeded(part)) this.end(part);
  }

  /** The client was closed on purpose. */
  cancel(): void {
    this.broken.clear();
    this.timers.remove(this);
  }

  due(): void {
    this.timers.remove(this);
    this.recheck();
    if (this.broken.size === 0) return;
    // A search opens a connection, so it starts only after the outage was reported.
    if (this.reported) this.search();
    else this.listener?.disconnected(this.server, this.reason);
    this.reported = true;
    this.timers.add(this, SEARCH_MS);
  }
}
