import { Caller } from './caller.js';
import { MultiKeyCaller } from './multi-key-caller.js';
import { planFault } from './faults.js';
import { Ledger } from './ledger.js';
import type { Plan } from './plan.js';
import { PendingCalls } from './pending-calls.js';
import { recordLeftovers } from './quiescence.js';
import { checkExactHistory } from '../histories/check/check-history.js';
import { Random } from './random.js';
import { Recorder } from './recorder.js';
import { SimulatedProcess } from './simulated-process.js';
import type { LocksByRules } from './simulated-locks.js';
import { SimulatedServer } from './simulated-server.js';
import { Timeline, type Happening } from './timeline.js';

/** A longer history is an endless loop. */
const MOST_HAPPENINGS = 50_000;
const MOST_LATE_MS = 1_500;
const nextTick = process.nextTick.bind(process);
const settled = Promise.resolve();

/** Calls back after all pending promises have settled, and all promises that settle as a consequence. */
function whenPromisesSettled(callback: () => void): void {
  // A tick requested by a promise runs after all promises; one requested by a tick would run before them.
  void settled.then(() => nextTick(callback));
}

/** How a history is run. */
export interface WorldSettings {
  readonly traced?: boolean;
  /** Locks with a planted change of the rules. */
  readonly Locks?: LocksByRules;
}

/** One history: processes, callers, faults and a server on one timeline, and the watchers of the rules that need more than the events. */
export class World {
  readonly timeline = new Timeline();
  readonly random: Random;
  readonly recorder = new Recorder(this.timeline);
  readonly server: SimulatedServer;
  readonly ledger: Ledger;
  readonly pendingCalls: PendingCalls;
  readonly processes: readonly SimulatedProcess[];
  /** The first broken rule. */
  violation: string | undefined;
  /** The time of the last fault from which the protocol has to recover. */
  troubledAt = -Infinity;
  readonly trace: string[] | undefined;
  happenings = 0;

  constructor(
    readonly plan: Plan,
    { traced = false, Locks }: WorldSettings = {},
  ) {
    this.random = new Random(plan.seed ^ 0x5bd1e995);
    this.trace = traced ? [] : undefined;
    this.server = new SimulatedServer(this, Locks);
    this.ledger = new Ledger(this);
    this.pendingCalls = new PendingCalls(this);
    this.processes = plan.processes.map((process, index) => new SimulatedProcess(this, index, process));
  }

  /** Runs the history to its end, or to the first broken rule. */
  async run(): Promise<string | undefined> {
    for (const [i, plan] of this.plan.callers.entries()) {
      const process = this.processes[plan.process];
      const Kind = plan.keys === undefined ? Caller : MultiKeyCaller;
      const caller = new Kind(this, plan, process, `c${i}`);
      this.timeline.add(plan.at, process, () => {
        if (!process.draining) caller.ask();
      });
    }
    for (const fault of this.plan.faults) planFault(this, fault);
    const { lossShare, lateShare, refusalShare, weather: name } = this.plan;
    // Any message, transfer or command may be affected at any time.
    if (lossShare + lateShare + refusalShare > 0)
      this.recorder.run({ type: 'fault', name, from: 0, cutOff: false }, Infinity);
    await new Promise<void>((resolve) => this.go(resolve));
    if (this.violation !== undefined) return this.violation;
    recordLeftovers(this);
    for (const { rule, message, at } of checkExactHistory(this.recorder.events))
      this.fail(`${rule}: ${message}`, `at ${at.toFixed(1)} ms`);
    return this.violation;
  }

  /** How long a transfer takes. */
  transferMs(): number {
    const { random, plan } = this;
    if (!random.chance(plan.lateShare)) return plan.latencyMs * random.between(0.1, 1);
    const late = random.between(0, MOST_LATE_MS);
    this.trouble(late);
    return late;
  }

  /** Records a fault from now on for this long. */
  trouble(ms = 0): void {
    const until = this.timeline.now + ms;
    if (until > this.troubledAt) this.troubledAt = until;
  }

  fail(rule: string, details = ''): void {
    this.violation ??= details === '' ? rule : `${rule} (${details})`;
    this.note(`BROKEN: ${rule}`, undefined, details);
  }

  note(what: string, process?: SimulatedProcess, details?: unknown): void {
    if (this.trace === undefined) return;
    const text = typeof details === 'string' ? details : JSON.stringify(details);
    const where = process === undefined ? '  ' : `p${process.index}`;
    this.trace.push(`${this.timeline.now.toFixed(3).padStart(10)} ${where} ${what} ${text ?? ''}`.replaceAll('-', ''));
  }

  /** Runs from one event to the next. */
  private go(end: () => void): void {
    for (;;) {
      const happening = this.violation === undefined ? this.next() : undefined;
      if (happening === undefined) return end();
      happening.run();
      // Only events in a process can settle promises.
      if (happening.process !== undefined) {
        return whenPromisesSettled(() => {
          this.check();
          this.go(end);
        });
      }
      this.check();
    }
  }

  private next(): Happening | undefined {
    for (;;) {
      const happening = this.timeline.take();
      if (happening === undefined) return undefined;
      const { process } = happening;
      if (process?.gone === true) continue;
      if (process?.turning !== false) return happening;
      process.postpone(happening);
    }
  }

  private check(): void {
    this.happenings += 1;
    if (this.happenings > MOST_HAPPENINGS) this.fail('an exchange without an end');
    this.ledger.check();
    this.pendingCalls.check();
  }
}
