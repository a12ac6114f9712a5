import { surelyOverMs } from '../../libs/distribute-lock/src/engine/lease/grant.js';
import type { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import { planOf } from '../../libs/distribute-lock/src/engine/lease/lifetime-plan.js';
import { QUANTUM_HOLDS, QUANTUM_MS } from '../../libs/distribute-lock/src/engine/local-hand-over.js';
import { CLAIM_WINDOW_MS } from '../../libs/distribute-lock/src/store/protocol.js';
import { GateWatch } from './gate-watch.js';
import { Hold } from './hold.js';
import { Lefts } from './lefts.js';
import { capacityOf, weightOf } from './modes.js';
import { Numbers } from './numbers.js';
import { isCalm } from './plan.js';
import type { PendingCall } from './pending-calls.js';
import type { SimulatedProcess } from './simulated-process.js';
import type { World } from './world.js';

/** Sums of times are rounded. */
const ROUNDING_MS = 0.001;
/** After a stop, all due events happen first. */
const BACKLOG_MS = 2;
/** Callers of several processes that arrive within this time may be served in either order. */
const TOGETHER_MS = 100;
/** Grants within this time may be observed in either order. */
const SEEN_MS = 50;

/** Watches every lease from its grant on, and checks when its holder may rely on it. */
export class Ledger {
  /** Weight of the valid holds of each key at this moment. */
  private readonly used = new Map<string, number>();
  /** Number of granted leases. */
  count = 0;
  private readonly holds = new Set<Hold>();
  private readonly byLabel = new Map<string, Hold>();
  readonly numbers: Numbers;
  readonly gates: GateWatch;
  private readonly lastRank = new Map<string, number>();
  private readonly lastArrival = new Map<string, number>();
  /** Served callers by key, with the times of their calls and grants. */
  private readonly served = new Map<string, readonly { readonly calledAt: number; readonly at: number }[]>();
  private readonly lefts: Lefts;
  private readonly holdsOf = new Map<string, number>();
  /** Owner tokens whose process was notified of a waiter. */
  private readonly contendedTokens = new Set<string>();

  /** Whether processes must be served in turn: without faults, and when all of them can be notified. */
  private readonly inTurn: boolean;

  constructor(private readonly world: World) {
    this.numbers = new Numbers(world);
    this.gates = new GateWatch(world);
    this.inTurn = isCalm(world.plan) && !world.plan.processes.some(({ deaf }) => deaf);
    this.lefts = new Lefts(world);
  }

  started(pendingCall: PendingCall, lease: LeaseHandle): Hold {
    const hold = new Hold(pendingCall, lease);
    this.count += 1;
    this.holds.add(hold);
    this.byLabel.set(pendingCall.label, hold);
    if (!lease.isHeld()) this.world.fail('an invalid lease was granted', pendingCall.label);
    if (!this.shares(pendingCall) && isCalm(this.world.plan) && this.world.pendingCalls.isKept(lease.key)) {
      this.world.fail('a lock was granted to another caller before its minHold', pendingCall.label);
    }
    this.lefts.check(hold);
    this.numbers.check(hold);
    this.checkOrder(hold);
    this.checkQuantum(hold);
    this.world.pendingCalls.progressed(lease.key);
    return hold;
  }

  left(hold: Hold): void {
    this.lefts.add(hold);
  }

  /** Whether the process counts permits of this key that the server has lost. */
  countsForgotten({ process, lease }: Hold): boolean {
    return [...this.holds].some(
      (hold) =>
        hold.process === process && hold.lease.key === lease.key && this.world.server.forgotten.has(hold.ownerToken),
    );
  }

  contended(ownerToken: string): void {
    this.contendedTokens.add(ownerToken);
    this.gates.closed(ownerToken);
  }

  /** The holder was notified of the loss. */
  notified(label: string): void {
    const hold = this.byLabel.get(label);
    if (hold === undefined) return this.notifiedEarly(label);
    this.world.note(`notified ${label} of its loss`, hold.process);
    if (hold.notified) this.world.fail('a holder was notified of a loss twice', label);
    hold.notified = true;
    if (!hold.lease.signal.aborted)
      this.world.fail('a holder was notified of a loss, but the signal did not abort', label);
    if (this.world.server.givenBack.has(hold.ownerToken)) this.world.fail('a release was reported as a loss', label);
    const { renew, maxHoldMs, minHoldMs, release, ttlMs } = hold.pendingCall.options;
    // The key stays locked for as long as without the loss.
    if (minHoldMs > 0) {
      const restMs = hold.process.realMs(hold.lease.startedAt + minHoldMs - hold.process.now());
      this.world.pendingCalls.leftUntil(hold.lease.key, this.world.timeline.now + restMs);
    }
    if (release === 'expire') {
      const longestMs = Math.max(ttlMs, hold.lease.grant.ttlMs, CLAIM_WINDOW_MS);
      const overMs = hold.process.realMs(surelyOverMs(longestMs));
      this.world.pendingCalls.leftUntil(hold.lease.key, this.world.timeline.now + overMs);
    }
    if (renew && maxHoldMs === Infinity && isCalm(this.world.plan))
      this.world.fail('a holder was notified of a loss that did not occur', label);
  }

  /** A multi-key call kept the key while it waited for another key, and renewed it independent of its options. */
  private notifiedEarly(label: string): void {
    if (isCalm(this.world.plan)) this.world.fail('a key that a multi-key call kept was lost', label);
  }

  /** Whether the key, or any key, has a valid holder. */
  isHeld(key?: string): boolean {
    return key === undefined ? this.used.size > 0 : this.used.has(key);
  }

  /** Whether the valid holders leave room for this caller. */
  fits({ key, options }: PendingCall, reads?: boolean): boolean {
    return (this.used.get(key) ?? 0) + weightOf(options, reads) <= capacityOf(options);
  }

  /** Whether others may hold the key at the same time. */
  shares({ key, options }: PendingCall): boolean {
    return weightOf(options) < this.capacity(key);
  }

  /** The total weight that holders of the key may have: the largest that its callers know. */
  capacity(key: string): number {
    return Math.max(...this.capacities(key));
  }

  /** Whether processes know different numbers of permits of the key, as in a rolling deploy. */
  isMixed(key: string): boolean {
    return this.capacities(key).size > 1;
  }

  /** The total weights that callers of the key know. */
  private capacities(key: string): ReadonlySet<number> {
    const callers = this.world.plan.callers.filter((caller) => (caller.keys ?? [caller.key]).includes(key));
    return new Set(callers.map(({ options }) => capacityOf(options)));
  }

  /** Checks at every moment: the leases that holders rely on exist in the server, and their weight fits. */
  check(): void {
    this.used.clear();
    for (const hold of this.holds) {
      if (hold.process.gone) this.holds.delete(hold);
      else if (hold.lease.isHeld()) this.checkHeld(hold);
      else this.checkOver(hold);
    }
  }

  private checkHeld(hold: Hold): void {
    const { world } = this;
    const { lease, ownerToken, process } = hold;
    if (hold.over) world.fail('a lost lease is valid again', hold.pendingCall.label);
    if (process.now() > lease.leaseUntil) world.fail('a hold outlasts its maxHold', hold.pendingCall.label);
    const left = world.server.leftMs(lease.key, ownerToken);
    const forgotten = world.server.forgotten.get(ownerToken);
    if (forgotten !== undefined) {
      // A later renewal may shorten the lease, and its answer reports the loss.
      if (hold.forgottenAt !== forgotten) {
        hold.forgottenAt = forgotten;
        hold.notifiedBy = forgotten + process.realMs(Math.max(lease.grant.ttlMs, lease.ttlMs)) + ROUNDING_MS;
      }
      if (left === undefined && world.timeline.now > hold.notifiedBy)
        world.fail('a holder was never notified of lost data', ownerToken);
      // A repeated attempt may have acquired the lock again.
      if (left !== undefined) this.use(hold);
      return;
    }
    this.use(hold);
    if (left === undefined || left < process.realMs(lease.remainingMs()) - ROUNDING_MS) {
      world.fail('a holder relies on a lease longer than the server keeps it', hold.pendingCall.label);
    }
  }

  private use({ pendingCall, reads }: Hold): void {
    const { key, options, label } = pendingCall;
    const used = (this.used.get(key) ?? 0) + weightOf(options, reads);
    if (used > this.capacity(key)) this.world.fail('two valid holds', `${label} of ${key}`);
    this.used.set(key, used);
  }

  private checkOver(hold: Hold): void {
    const { world } = this;
    const { process, lease, ownerToken } = hold;
    hold.over = true;
    if (hold.released) this.holds.delete(hold);
    else if (!hold.notified && !lease.ended && this.mustKnow(process)) {
      const forgotten = world.server.forgotten.has(ownerToken);
      if (forgotten || world.server.leftMs(lease.key, ownerToken) !== undefined) return;
      world.fail('a holder was not notified before its lease ended', hold.pendingCall.label);
    }
  }

  private mustKnow(process: SimulatedProcess): boolean {
    return process.turning && this.world.timeline.now > process.turningSince + BACKLOG_MS;
  }

  /** First come, first served: always within a process, and between processes without faults. */
  private checkOrder(hold: Hold): void {
    const { world } = this;
    const { lease, ownerToken, pendingCall } = hold;
    const { kind } = pendingCall.options;
    // Readers take turns with writers, not with other readers.
    if (kind === 'read') return this.gates.started(hold);
    const rank = world.server.ranks.get(ownerToken) ?? -1;
    const together = kind === 'semaphore';
    if (this.inTurn && !this.shares(pendingCall) && rank < (this.lastRank.get(lease.key) ?? -1))
      world.fail('a waiting process was overtaken');
    this.lastRank.set(lease.key, rank);
    if (pendingCall.options.fair === 'strict' || pendingCall.keys !== undefined || (together && !pendingCall.waits))
      return;
    if (together && !this.mayQueueAgain(pendingCall)) this.checkArrival(pendingCall, lease.key);
    const line = `${pendingCall.process.index} ${lease.key}${together ? runOf(lease, pendingCall) : ''}`;
    if (pendingCall.order < (this.lastArrival.get(line) ?? -1))
      world.fail('a caller of the same process was overtaken');
    this.lastArrival.set(line, pendingCall.order);
  }

  /** A process with more callers than places queues again. It may have fewer places than that if it hands over no permit in memory. */
  private mayQueueAgain({ key, process, options: { permits, weight } }: PendingCall): boolean {
    const { callers, processes } = this.world.plan;
    const rivals = callers.filter((caller) => caller.key === key && processes[caller.process] === process.plan);
    if (rivals.length > permits / weight + 1) return true;
    return rivals.length > permits / weight && rivals.some(({ options }) => planOf(options).needsWholeTtl);
  }

  /** Without faults, callers of all processes get permits in the order of their calls. */
  private checkArrival({ calledAt, label }: PendingCall, key: string): void {
    if (!this.inTurn) return;
    const { now } = this.world.timeline;
    const served = this.served.get(key) ?? [];
    const overtook = served.some((other) => other.at < now - SEEN_MS && other.calledAt > calledAt + TOGETHER_MS);
    if (overtook) this.world.fail('a caller for permits was overtaken', label);
    this.served.set(key, [...served, { calledAt, at: now }]);
  }

  /** A process with waiters in other processes has a limit for local hand-overs, in number and time. */
  private checkQuantum({ lease, ownerToken, pendingCall }: Hold): void {
    const holds = (this.holdsOf.get(ownerToken) ?? 0) + 1;
    this.holdsOf.set(ownerToken, holds);
    if (
      holds === 1 ||
      pendingCall.keys !== undefined ||
      pendingCall.options.kind === 'read' ||
      pendingCall.options.kind === 'semaphore' ||
      !this.contendedTokens.has(ownerToken)
    )
      return;
    if (holds > QUANTUM_HOLDS || lease.startedAt - lease.grant.startedAt > QUANTUM_MS) {
      this.world.fail('a process kept the lock although others waited', ownerToken);
    }
  }
}

/** A process asks for permits in runs of callers with equal options; a fault may delay one of the runs. */
function runOf({ grant }: LeaseHandle, { options }: PendingCall): string {
  return ` ${options.weight} ${grant.ttlMs}`;
}
