import type { Grant } from '../../lease/grant.js';
import { Timed } from '../../runtime/timer-lanes.js';
import { isLost, lossOfAnswer, type RenewAnswer } from '../../store/lock-store.js';
import { HEARTBEAT_MS } from '../heartbeat.js';
import type { Line } from '../line.js';
import { unavailable } from '../refusals.js';
import { refuseImpatient } from '../settling.js';
import type { LaneParts } from './lane.js';
import type { ReadQueue } from './read-queue.js';

/** Who lets readers in. */
export interface Gatekeeper {
  admit(queue: ReadQueue, grant: Grant, sentAt: number): void;
  turnAway(queue: ReadQueue): void;
  /** Callers have left the line. */
  moved(line: Line): void;
}

/**
 * Renews the lease of a process's readers for those who wait at its gate: because what is left of it is too short for them,
 * or, every heartbeat, to learn whether the writer in front of them has gone.
 */
export class Refresh extends Timed {
  private inFlight = false;

  constructor(
    private readonly parts: LaneParts,
    private readonly gatekeeper: Gatekeeper,
    private readonly queue: ReadQueue,
  ) {
    super();
  }

  within(ms: number): void {
    const { lanes } = this.parts.core;
    if (this.inFlight) return;
    if (ms === 0) {
      lanes.remove(this);
      this.due();
    } else if (this.lane === undefined) lanes.add(this, ms);
  }

  due(): void {
    const { grant, line, warnings } = this.queue;
    if (grant === undefined || line.first === undefined) return this.queue.tidy();
    const { clock, store } = this.parts.core;
    const { key, ownerToken } = grant;
    const ttlMs = Math.max(grant.ttlMs, this.queue.ttlMsOf(line));
    const sentAt = clock.now();
    this.inFlight = true;
    store.renew([{ key, ownerToken, kind: 'read', ttlMs }]).then(
      ([answer]) => this.answered(grant, answer, sentAt, ttlMs, warnings),
      (error: Error) => this.answered(grant, error, sentAt, ttlMs, warnings),
    );
  }

  private answered(grant: Grant, answer: RenewAnswer, sentAt: number, ttlMs: number, warnings: number): void {
    const { queue } = this;
    const { core } = this.parts;
    this.inFlight = false;
    if (grant.ended || queue.grant !== grant) return this.superseded(answer);
    if (core.clock.now() >= grant.validUntil) return core.watchdog.expire(grant);
    if (isLost(answer)) return core.watchdog.lose(grant, lossOfAnswer(answer));
    if (answer instanceof Error) {
      refuseImpatient(core, queue.line, ({ call }) => unavailable(call, answer));
      return this.within(HEARTBEAT_MS);
    }
    grant.confirm(sentAt, ttlMs);
    core.watchdog.watch(grant);
    // A warning that came after the question is newer than its answer.
    grant.contended = answer > 0 || queue.warnings > warnings;
    if (!grant.contended) return this.gatekeeper.admit(queue, grant, sentAt);
    this.gatekeeper.turnAway(queue);
    this.within(HEARTBEAT_MS);
  }

  /** The lease was given back meanwhile. Who would not wait is not made to wait for another silence of the store. */
  private superseded(answer: RenewAnswer): void {
    const { line, grant } = this.queue;
    if (answer instanceof Error) refuseImpatient(this.parts.core, line, ({ call }) => unavailable(call, answer));
    // Those who have come to the next lease could not ask for it meanwhile.
    if (grant !== undefined && line.first !== undefined) return this.within(grant.contended ? HEARTBEAT_MS : 0);
    this.gatekeeper.moved(line);
    this.queue.tidy();
  }
}
