import { surelyOverMs } from '../../libs/distribute-lock/src/lease/grant.js';
import type { LeaseHandle } from '../../libs/distribute-lock/src/lease/lease-handle.js';
import { isConfirmed, QUANTUM_HOLDS, QUANTUM_MS } from '../../libs/distribute-lock/src/queue/local-passing.js';
import { CLAIM_WINDOW_MS } from '../../libs/distribute-lock/src/store/protocol.js';
import { GateWatch } from './gate-watch.js';
import { Hold } from './hold.js';
import { Lefts } from './lefts.js';
import { capacityOf, shares, weightOf } from './modes.js';
import { Numbers } from './numbers.js';
import { isCalm } from './plan.js';
import type { Question } from './questions.js';
import type { SimulatedProcess } from './simulated-process.js';
import type { World } from './world.js';

/** Sums of moments are rounded. */
const ROUNDING_MS = 0.001;
/** After a stop, everything that was due happens first. */
const BACKLOG_MS = 2;
/** Callers of several processes that come so soon behind each other may be served in either order. */
const TOGETHER_MS = 100;
/** Grants of one moment are seen in either order. */
const SEEN_MS = 50;

/** Watches every lease, from the moment it is handed out: who may believe what, and when. */
export class Ledger {
  /** How much of each key is validly held at this moment. */
  private readonly used = new Map<string, number>();
  /** Leases that were handed out. */
  count = 0;
  private readonly holds = new Set<Hold>();
  private readonly byLabel = new Map<string, Hold>();
  readonly numbers: Numbers;
  readonly gates: GateWatch;
  private readonly lastRank = new Map<string, number>();
  private readonly lastArrival = new Map<string, number>();
  /** Callers that were served, by key: when they asked, and when they were. */
  private readonly served = new Map<string, readonly { readonly askedAt: number; readonly at: number }[]>();
  private readonly lefts: Lefts;
  private readonly holdsOf = new Map<string, number>();
  /** Owner tokens whose process was told that somebody waits behind them. */
  private readonly contendedTokens = new Set<string>();

  /** Processes come in turn where nothing goes wrong and all of them can be woken. */
  private readonly inTurn: boolean;

  constructor(private readonly world: World) {
    this.numbers = new Numbers(world);
    this.gates = new GateWatch(world);
    this.inTurn = isCalm(world.plan) && !world.plan.processes.some(({ deaf }) => deaf);
    this.lefts = new Lefts(world);
  }

  started(question: Question, lease: LeaseHandle): Hold {
    const hold = new Hold(question, lease);
    this.count += 1;
    this.holds.add(hold);
    this.byLabel.set(question.label, hold);
    if (!lease.isHeld()) this.world.fail('a lease was handed out that is not valid', question.label);
    if (!shares(question.options) && isCalm(this.world.plan) && this.world.questions.isKept(lease.key)) {
      this.world.fail('a lock was given away before its minHold', question.label);
    }
    this.lefts.check(hold);
    this.numbers.check(hold);
    this.checkOrder(hold);
    this.checkQuantum(hold);
    this.world.questions.progressed(lease.key);
    return hold;
  }

  left(hold: Hold): void {
    this.lefts.add(hold);
  }

  contended(ownerToken: string): void {
    this.contendedTokens.add(ownerToken);
    this.gates.closed(ownerToken);
  }

  /** The holder was told of the loss. */
  told(label: string): void {
    const hold = this.byLabel.get(label);
    if (hold === undefined) return this.toldEarly(label);
    this.world.note(`told ${label} of its loss`, hold.process);
    if (hold.told) this.world.fail('a loss was told twice', label);
    hold.told = true;
    if (!hold.lease.signal.aborted) this.world.fail('a loss was told, but the signal did not abort', label);
    if (this.world.server.givenBack.has(hold.ownerToken)) this.world.fail('a release was taken for a loss', label);
    const { renew, maxHoldMs, release, ttlMs } = hold.question.options;
    if (maxHoldMs < Infinity && release === 'expire') {
      const longestMs = Math.max(ttlMs, hold.lease.grant.ttlMs, CLAIM_WINDOW_MS);
      const overMs = hold.process.realMs(surelyOverMs(longestMs));
      this.world.questions.leftUntil(hold.lease.key, this.world.timeline.now + overMs);
    }
    if (renew && maxHoldMs === Infinity && isCalm(this.world.plan))
      this.world.fail('a loss was told for nothing', label);
  }

  /** It was kept for somebody who waited for another key, and was renewed whatever the work would want. */
  private toldEarly(label: string): void {
    if (isCalm(this.world.plan)) this.world.fail('a key that was kept for others was lost', label);
  }

  /** Whether somebody validly holds the key, or any key. */
  isHeld(key?: string): boolean {
    return key === undefined ? this.used.size > 0 : this.used.has(key);
  }

  /** Whether nobody who holds validly keeps this caller out. */
  fits({ key, options }: Question, reads?: boolean): boolean {
    return (this.used.get(key) ?? 0) + weightOf(options, reads) <= capacityOf(options);
  }

  /** At every moment: what holders believe is true in the server, and no more of them believe than may hold together. */
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
    if (hold.over) world.fail('a lost lease is valid again', hold.question.label);
    if (process.now() > lease.leaseUntil) world.fail('a hold outlasts its maxHold', hold.question.label);
    const left = world.server.leftMs(lease.key, ownerToken);
    const forgotten = world.server.forgotten.get(ownerToken);
    if (forgotten !== undefined) {
      const end = forgotten + process.realMs(Math.max(lease.grant.ttlMs, lease.ttlMs)) + ROUNDING_MS;
      if (left === undefined && world.timeline.now > end)
        world.fail('a holder was never told of lost data', ownerToken);
      // Sent again, its question may have brought it the lock once more.
      if (left !== undefined) this.use(hold);
      return;
    }
    this.use(hold);
    if (left === undefined || left < process.realMs(lease.remainingMs()) - ROUNDING_MS) {
      world.fail('a lease is believed longer than the server keeps it', hold.question.label);
    }
  }

  private use({ question, reads }: Hold): void {
    const { key, options, label } = question;
    if (!this.fits(question, reads)) this.world.fail('two valid holds', `${label} of ${key}`);
    this.used.set(key, (this.used.get(key) ?? 0) + weightOf(options, reads));
  }

  private checkOver(hold: Hold): void {
    const { world } = this;
    const { process, lease, ownerToken } = hold;
    hold.over = true;
    if (hold.released) this.holds.delete(hold);
    else if (!hold.told && !lease.ended && this.mustKnow(process)) {
      const forgotten = world.server.forgotten.has(ownerToken);
      if (forgotten || world.server.leftMs(lease.key, ownerToken) !== undefined) return;
      world.fail('a holder was not told before its lease ended', hold.question.label);
    }
  }

  private mustKnow(process: SimulatedProcess): boolean {
    return process.turning && this.world.timeline.now > process.turningSince + BACKLOG_MS;
  }

  /** First come, first served: in a process always, among processes when nothing goes wrong. */
  private checkOrder(hold: Hold): void {
    const { world } = this;
    const { lease, ownerToken, question } = hold;
    const { kind } = question.options;
    // Readers come in turn with writers, not with one another.
    if (kind === 'read') return this.gates.started(hold);
    const rank = world.server.ranks.get(ownerToken) ?? -1;
    const together = kind === 'semaphore';
    if (this.inTurn && !shares(question.options) && rank < (this.lastRank.get(lease.key) ?? -1))
      world.fail('a waiting process was overtaken');
    this.lastRank.set(lease.key, rank);
    if (question.options.fair === 'strict' || question.keys !== undefined || (together && !question.waits)) return;
    if (together) this.checkArrival(question, lease.key);
    const line = `${question.process.index} ${lease.key}${together ? runOf(lease, question) : ''}`;
    if (question.order < (this.lastArrival.get(line) ?? -1)) world.fail('a caller of the same process was overtaken');
    this.lastArrival.set(line, question.order);
  }

  /** Permits: callers of all processes are served as they come, when nothing goes wrong. */
  private checkArrival({ askedAt, label }: Question, key: string): void {
    if (!this.inTurn) return;
    const { now } = this.world.timeline;
    const served = this.served.get(key) ?? [];
    const overtook = served.some((other) => other.at < now - SEEN_MS && other.askedAt > askedAt + TOGETHER_MS);
    if (overtook) this.world.fail('a caller for permits was overtaken', label);
    this.served.set(key, [...served, { askedAt, at: now }]);
  }

  /** A process that knows that others wait passes the lock on in memory only so often, and for so long. */
  private checkQuantum({ lease, ownerToken, question }: Hold): void {
    const holds = (this.holdsOf.get(ownerToken) ?? 0) + 1;
    this.holdsOf.set(ownerToken, holds);
    if (
      holds === 1 ||
      question.keys !== undefined ||
      question.options.kind === 'read' ||
      question.options.kind === 'semaphore' ||
      !this.contendedTokens.has(ownerToken)
    )
      return;
    if (holds > QUANTUM_HOLDS || lease.startedAt - lease.grant.startedAt > QUANTUM_MS) {
      this.world.fail('a process kept the lock to itself while others waited', ownerToken);
    }
  }
}

/** A process asks for permits in several runs of callers that want the same; a fault may hold up one of them. */
function runOf({ grant }: LeaseHandle, { options }: Question): string {
  return ` ${options.weight} ${grant.ttlMs} ${isConfirmed(options)}`;
}
