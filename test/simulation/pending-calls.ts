import type { ResolvedLockOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { SHORT_OFFER_MS } from '../../libs/distribute-lock/src/store/protocol.js';
import { isCalm, type Plan } from './plan.js';
import type { SimulatedProcess } from './simulated-process.js';
import { MultiKeyWatch } from './multi-key-watch.js';
import type { World } from './world.js';

/** Clocks differ by less than this share. */
const DRIFT = 1.01;
/** After a lost message: a heartbeat with its jitter, and an attempt. */
const HEARTBEAT_MS = 1_500;
const CLAIM_MS = 1_750;
/** The longest delay of a timer. */
const KEPT_MS = 1;

/** A call of the engine that has not settled. */
export interface PendingCall {
  readonly process: SimulatedProcess;
  readonly label: string;
  readonly key: string;
  readonly options: ResolvedLockOptions;
  readonly order: number;
  readonly calledAt: number;
  /** Whether it is a caller that waits for the lock. */
  readonly waits: boolean;
  /** A multi-key call, which keeps the keys that it has. */
  readonly keys?: readonly string[];
}

/** Watches waiting callers until their calls settle: no caller waits for a free lock. */
export class PendingCalls {
  private readonly open = new Set<PendingCall>();
  /** When each key with waiters lost its last holder. */
  private readonly starving = new Map<string, number>();
  private readonly minHolds = new Map<string, number>();
  private readonly lefts = new Map<string, number>();
  private readonly patienceMs: number;
  private readonly multiKey: MultiKeyWatch;
  private order = 0;

  constructor(private readonly world: World) {
    this.patienceMs = patienceMs(world.plan);
    this.multiKey = new MultiKeyWatch(world, this.patienceMs);
  }

  ask(
    process: SimulatedProcess,
    label: string,
    key: string,
    options: ResolvedLockOptions,
    keys?: readonly string[],
  ): PendingCall {
    const calledAt = this.world.timeline.now;
    const waits = options.waitMs > 0;
    const pendingCall = { process, label, key, options, calledAt, waits, keys, order: this.order++ };
    this.open.add(pendingCall);
    return pendingCall;
  }

  answered(pendingCall: PendingCall): void {
    this.open.delete(pendingCall);
  }

  /** A caller was granted the key. Other waiters of a shared key follow one after the other. */
  progressed(key: string): void {
    this.starving.delete(key);
  }

  /** The lock stays taken until then without a holder. */
  keptUntil(key: string, at: number): void {
    this.minHolds.set(key, Math.max(at + KEPT_MS, this.minHolds.get(key) ?? 0));
  }

  /** The lock may stay taken until then without a holder, because it is left to its ttl. */
  leftUntil(key: string, at: number): void {
    this.lefts.set(key, Math.max(at, this.lefts.get(key) ?? 0));
  }

  isLeft(key: string): boolean {
    return this.world.timeline.now < (this.lefts.get(key) ?? 0);
  }

  check(): void {
    const { now } = this.world.timeline;
    let starving = false;
    for (const pendingCall of this.open) {
      const { process } = pendingCall;
      if (process.gone) this.open.delete(pendingCall);
      else if (process.turning && waitsAlone(pendingCall) && this.world.ledger.fits(pendingCall)) {
        starving = true;
        if (!this.starving.has(pendingCall.key)) this.starving.set(pendingCall.key, now);
      }
    }
    if (this.starving.size > 0) this.checkStarving(starving, now);
    this.multiKey.check(this.open);
  }

  /** Whether the lock is or may be taken without a holder. */
  standsIdle(key: string): boolean {
    return this.isLeft(key) || this.world.timeline.now < (this.minHolds.get(key) ?? 0);
  }

  private checkStarving(any: boolean, now: number): void {
    for (const [key, since] of this.starving) {
      const free = any && this.isWantedAndFits(key) && !this.world.server.isForeign(key);
      if (!free || this.isKeptForMore(key) || this.standsIdle(key)) this.starving.delete(key);
      else if (now > Math.max(since, this.world.troubledAt) + this.patienceMs + this.gateMs(key)) {
        this.world.fail('a lock with waiters has no holder', `${key} since ${since.toFixed(1)}`);
      }
    }
  }

  /** Whether a multi-key call may keep the key while it waits for another one. */
  private isKeptForMore(key: string): boolean {
    return this.world.server.locks.owner(key) !== undefined && [...this.open].some(({ keys }) => keys?.includes(key));
  }

  /** Readers at the gate of their process ask with every heartbeat whether the writer has left. */
  private gateMs(key: string): number {
    const reads = [...this.open].every(
      (pendingCall) => pendingCall.key !== key || !waitsAlone(pendingCall) || isRead(pendingCall),
    );
    return reads ? HEARTBEAT_MS : 0;
  }

  /** Whether the key has waiters, and each of them would fit beside the holders, also the first one in the queue. */
  private isWantedAndFits(key: string): boolean {
    let wanted = false;
    for (const pendingCall of this.open) {
      if (!waitsAlone(pendingCall) || pendingCall.key !== key) continue;
      if (!this.world.ledger.fits(pendingCall)) return false;
      wanted ||= pendingCall.process.turning;
    }
    return wanted;
  }
}

const waitsAlone = ({ waits, keys }: PendingCall): boolean => waits && keys === undefined;
const isRead = ({ options }: PendingCall): boolean => options.kind === 'read';

/** How long a lock may be free in front of live waiters after the last fault. */
function patienceMs(plan: Plan): number {
  const trip = 8 * plan.latencyMs + 10 * plan.lagMs + 20;
  // A waiter without messages may miss its short offer, because it makes an attempt every 100 to 250 ms.
  const missed = plan.callers.filter(({ process }) => plan.processes[process]?.deaf).length;
  const poll = plan.processes.some(({ deaf }) => deaf) ? 250 + missed * (SHORT_OFFER_MS + trip) : 0;
  if (isCalm(plan)) return trip + poll;
  const onlyLostMessages = plan.faults.length + plan.lateShare + plan.refusalShare === 0;
  if (onlyLostMessages) return HEARTBEAT_MS + trip + poll;
  const ttlMs = Math.max(...plan.callers.map(({ options, extend }) => Math.max(options.ttlMs, extend?.ttlMs ?? 0)));
  // Without a count of subscribers, an offer to a dead token costs a claim window. All tokens without a heartbeat leave
  // the queue then. The tokens of a process that sent one just before it died leave one window later.
  const dead = plan.counted ? 1 : 2;
  return ttlMs * DRIFT + HEARTBEAT_MS + dead * (CLAIM_MS + trip) + poll;
}
