import { QUANTUM_HOLDS, QUANTUM_MS } from '../../libs/distribute-lock/src/engine/local-hand-over.js';
import { GateWatch } from './gate-watch.js';
import type { Hold } from './hold.js';
import { capacityOf, weightOf } from './modes.js';
import { isCalm } from './plan.js';
import type { World } from './world.js';

/** Watches the turns of processes and of their callers. They depend on messages and queues, which no process records. */
export class Turns {
  readonly gates: GateWatch;
  private readonly lastRank = new Map<string, number>();
  private readonly lastArrival = new Map<string, number>();
  private readonly holdsOf = new Map<string, number>();
  /** The first hold of each owner token. */
  private readonly firstOf = new Map<string, Hold>();
  /** Owner tokens whose process was notified of a waiter. */
  private readonly contendedTokens = new Set<string>();
  /** Whether processes must be served in turn: without faults, and when all of them can be notified. */
  private readonly inTurn: boolean;

  constructor(private readonly world: World) {
    this.gates = new GateWatch(world);
    this.inTurn = isCalm(world.plan) && !world.plan.processes.some(({ deaf }) => deaf);
  }

  contended(ownerToken: string): void {
    this.contendedTokens.add(ownerToken);
    this.gates.closed(ownerToken);
  }

  check(hold: Hold): void {
    // Readers take turns with writers, not with other readers.
    if (hold.pendingCall.options.kind === 'read') this.gates.started(hold);
    else this.checkOrder(hold);
    this.checkQuantum(hold);
  }

  /** First come, first served: always within a process, and between processes without faults. */
  private checkOrder(hold: Hold): void {
    const { world } = this;
    const { lease, ownerToken, pendingCall } = hold;
    const { kind, fair, weight } = pendingCall.options;
    const rank = world.server.ranks.get(ownerToken) ?? -1;
    if (this.inTurn && !this.shares(hold) && rank < (this.lastRank.get(lease.key) ?? -1))
      world.fail('a waiting process was overtaken');
    this.lastRank.set(lease.key, rank);
    const together = kind === 'semaphore';
    if (fair === 'strict' || pendingCall.keys !== undefined || (together && !pendingCall.waits)) return;
    // A process asks for permits in runs of callers with equal options; a fault may delay one of the runs.
    const run = together ? ` ${weight} ${lease.grant.ttlMs}` : '';
    const line = `${pendingCall.process.index} ${lease.key}${run}`;
    if (pendingCall.order < (this.lastArrival.get(line) ?? -1))
      world.fail('a caller of the same process was overtaken');
    this.lastArrival.set(line, pendingCall.order);
  }

  /** Whether others may hold the key at the same time: as far as any of its callers knows. */
  private shares({ pendingCall: { key, options } }: Hold): boolean {
    const callers = this.world.plan.callers.filter((caller) => (caller.keys ?? [caller.key]).includes(key));
    return callers.some((caller) => weightOf(options) < capacityOf(caller.options));
  }

  /** A process with waiters in other processes has a limit for local hand-overs, in number and time. */
  private checkQuantum(hold: Hold): void {
    const { lease, ownerToken, pendingCall } = hold;
    const holds = (this.holdsOf.get(ownerToken) ?? 0) + 1;
    this.holdsOf.set(ownerToken, holds);
    if (holds === 1) this.firstOf.set(ownerToken, hold);
    const { kind } = pendingCall.options;
    const isLimited = pendingCall.keys === undefined && kind !== 'read' && kind !== 'semaphore';
    if (holds === 1 || !isLimited || !this.contendedTokens.has(ownerToken)) return;
    const begunAt = this.firstOf.get(ownerToken)!.lease.startedAt;
    if (holds > QUANTUM_HOLDS || lease.startedAt - begunAt > QUANTUM_MS)
      this.world.fail('a process kept the lock although others waited', ownerToken);
  }
}
