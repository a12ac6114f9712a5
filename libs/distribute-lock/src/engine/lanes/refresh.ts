import type { Grant, Renewal } from '../lease/grant.js';
import { Timer } from '../../runtime/timers.js';
import { isLost, LockStoreError, type RenewAnswer } from '../../store/lock-store.js';
import { HEARTBEAT_MS } from '../heartbeat.js';
import type { Line } from '../line.js';
import { unavailable } from '../refusals.js';
import { refuseImpatient } from '../settling.js';
import type { LaneParts } from './lane.js';
import type { ReadQueue } from './read-queue.js';

/** A non-waiting caller that has waited this long for a failed renewal does not wait for another command. */
const MOST_LOST_MS = 150;

const unconfirmed = (): Error =>
  new LockStoreError('the lease that readers of this process share was not confirmed in time.', true);

/** Admits readers. */
export interface Gatekeeper {
  admit(queue: ReadQueue, grant: Grant, sentAt: number): void;
  turnAway(queue: ReadQueue): void;
  /** Callers have left the line. */
  moved(line: Line): void;
}

/** Refuses non-waiting callers that have no time left for another command. */
export function refuseLate({ core }: LaneParts, { line }: ReadQueue, why: Error = unconfirmed()): void {
  refuseImpatient(core, line, ({ call }) => unavailable(call, why), core.clock.now() - MOST_LOST_MS);
}

/**
 * Renews the lease that the readers of a process share, for readers that wait to enter it. Either the rest of the lease is too
 * short for them, or a writer waits and a heartbeat checks whether it has left. Renewals and their back-off are shared with the
 * watchdog.
 */
export class Refresh extends Timer {
  private inFlight = false;
  /** The error of the last renewal, if it failed. */
  private lastError: Error | undefined = undefined;

  constructor(
    private readonly parts: LaneParts,
    private readonly gatekeeper: Gatekeeper,
    private readonly queue: ReadQueue,
  ) {
    super();
  }

  within(ms: number): void {
    const { timers, watchdog } = this.parts.core;
    const { grant } = this.queue;
    const retryInMs = grant === undefined ? 0 : watchdog.retryInMs(grant);
    // A new reader must not bring a pending retry forward.
    if (this.inFlight || (this.lastError !== undefined && this.isScheduled)) return;
    if (ms === 0 && retryInMs > 0) timers.add(this, retryInMs);
    else if (ms === 0) {
      timers.remove(this);
      this.due();
    } else if (!this.isScheduled) timers.add(this, ms);
  }

  due(): void {
    const { queue } = this;
    refuseLate(this.parts, queue, this.lastError);
    const { grant, line, warnings } = queue;
    if (grant === undefined || line.first === undefined) return queue.tidy();
    const joined = grant.renewal !== undefined;
    const renewal = this.parts.core.watchdog.renew(grant, queue.ttlMsOf(line));
    this.inFlight = true;
    renewal.answered = (answer) => this.answered(grant, answer, renewal, joined ? undefined : warnings);
  }

  /** @param warnings - the number of warnings when the renewal was sent; `undefined` if the watchdog had sent it before */
  private answered(grant: Grant, answer: RenewAnswer, renewal: Renewal, warnings: number | undefined): void {
    const { queue } = this;
    this.inFlight = false;
    if (answer instanceof Error) {
      this.lastError = answer;
      refuseImpatient(this.parts.core, queue.line, ({ call }) => unavailable(call, answer));
    } else {
      this.lastError = undefined;
    }
    if (grant.ended || queue.grant !== grant) return this.superseded();
    if (answer instanceof Error) return this.within(0);
    if (isLost(answer)) return;
    // A warning that arrived after the command was sent is newer than its answer.
    if (warnings !== undefined) grant.contended = answer > 0 || queue.warnings > warnings;
    if (grant.contended) {
      this.gatekeeper.turnAway(queue);
      return this.within(warnings === undefined ? 0 : HEARTBEAT_MS);
    }
    const { line } = queue;
    if (line.first !== undefined && renewal.ttlMs < queue.ttlMsOf(line)) return this.within(0);
    this.gatekeeper.admit(queue, grant, renewal.sentAt);
  }

  /** The lease was released before the answer arrived. */
  private superseded(): void {
    const { line, grant } = this.queue;
    // Readers of the next lease could not ask for it while the renewal was in flight.
    if (grant !== undefined && line.first !== undefined) return this.within(grant.contended ? HEARTBEAT_MS : 0);
    this.gatekeeper.moved(line);
    this.queue.tidy();
  }
}
