import { isCalm } from './plan.js';
import { MULTI_KEY } from './multi-key-plan.js';
import type { PendingCall } from './pending-calls.js';
import type { World } from './world.js';

/** A caller of three keys may have to wait for each of them. */
const MOST_KEYS = 3;
const HEARTBEAT_MS = 1_500;

/**
 * Watches callers that keep keys and wait for more of them. They do not wait for each other, so at least one makes
 * progress. Keys that they kept without a lease are released.
 */
export class MultiKeyWatch {
  private readonly watches: boolean;
  private readonly calm: boolean;
  private idleSince = Infinity;
  /** When each lock without a holder and a waiter was seen first. */
  private readonly standing = new Map<string, number>();

  constructor(
    private readonly world: World,
    /** How long a single lock may be free in front of its waiters. */
    private readonly patienceMs: number,
  ) {
    this.watches = world.plan.callers.some(({ keys }) => keys !== undefined);
    this.calm = isCalm(world.plan);
  }

  check(open: ReadonlySet<PendingCall>): void {
    if (!this.watches) return;
    this.checkIdle(open);
    if (this.calm) for (const key of MULTI_KEY) this.checkStanding(key, open);
  }

  private checkIdle(open: ReadonlySet<PendingCall>): void {
    const { timeline, troubledAt } = this.world;
    if (!this.isIdle(open)) this.idleSince = Infinity;
    else if (this.idleSince === Infinity) this.idleSince = timeline.now;
    else if (timeline.now > Math.max(this.idleSince, troubledAt) + MOST_KEYS * this.patienceMs + HEARTBEAT_MS)
      this.world.fail('multi-key callers wait without any holder', `since ${this.idleSince.toFixed(1)}`);
  }

  private isIdle(open: ReadonlySet<PendingCall>): boolean {
    const { ledger, pendingCalls, server } = this.world;
    if (ledger.isHeld()) return false;
    for (const { keys, waits, process } of open) {
      if (keys === undefined || !waits || !process.turning) continue;
      return !server.locks.keys().some((key) => server.isForeign(key) || pendingCalls.standsIdle(key));
    }
    return false;
  }

  private checkStanding(key: string, open: ReadonlySet<PendingCall>): void {
    const { ledger, pendingCalls, server, timeline } = this.world;
    const isFree = server.locks.owner(key) === undefined || ledger.isHeld(key) || pendingCalls.standsIdle(key);
    if (isFree || [...open].some((pendingCall) => (pendingCall.keys ?? [pendingCall.key]).includes(key)))
      this.standing.delete(key);
    else if (!this.standing.has(key)) this.standing.set(key, timeline.now);
    else if (timeline.now > this.standing.get(key)! + this.patienceMs)
      this.world.fail('a lock is taken without a holder', key);
  }
}
