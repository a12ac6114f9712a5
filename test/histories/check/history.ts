import { RUN, type HistoryEvent, type RunEvent, type WorkerEvent } from '../event.js';
import { groupBy } from './group-by.js';
import { between, overlap, type Interval } from './interval.js';
import { Detached } from './detached.js';
import { readOperation, ttlOf, type Operation, type OperationEvent } from './operation.js';

export { ttlOf };

/** A violation of a rule. */
export interface Violation {
  readonly rule: string;
  readonly message: string;
  /** The operations that the message names. */
  readonly operations: readonly Operation[];
  readonly at: number;
}

export type Fault = Extract<RunEvent, { type: 'fault' }>;
export type DataLoss = Extract<RunEvent, { type: 'data-lost' }>;
type EventOfRun = RunEvent & { readonly process: typeof RUN };
type CallEvent = Extract<WorkerEvent, { type: 'ask' }>;

/** Sums of times are rounded. */
export const ROUNDING_MS = 0.001;
/** The bounds of the checks allow for standstills shorter than this. A check with another minimum passes it. */
const LONG_STANDSTILL_MS = 60;
/** After a fault, processes reconnect and repair their queue entries within this time. */
const AFTERMATH_MS = 4_000;

/** The events of a run by operation, process and kind. */
export class History {
  readonly operations: readonly Operation[];
  readonly dataLosses: readonly DataLoss[];
  readonly faults: readonly Fault[];
  readonly stray: readonly Extract<HistoryEvent, { type: 'stray' }>[];
  readonly ofRun: readonly EventOfRun[];
  /** Leases that were detached, by the operation that did it. */
  readonly detached: ReadonlyMap<string, Detached>;
  private readonly standstills = new Map<string, Interval[]>();
  /** Each process records a standstill at its end; a killed process has recorded the start of the last one. */
  private readonly blocked = new Map<string, Interval>();
  private readonly endedAt = new Map<string, number>();
  private readonly shutdownAt = new Map<string, number>();

  /** @param exact - whether each event has the time at which it happened, as in a simulation */
  constructor(
    readonly events: readonly HistoryEvent[],
    readonly exact = false,
  ) {
    this.ofRun = events.filter((event): event is EventOfRun => event.process === RUN);
    this.faults = this.ofRun.filter((event) => event.type === 'fault');
    this.dataLosses = this.ofRun.filter((event) => event.type === 'data-lost');
    this.stray = events.filter((event) => event.type === 'stray');
    for (const event of events) this.note(event);
    const byOperation = groupBy(events.filter(isOfOperation), ({ op }) => op);
    const operations = [...byOperation.values()]
      .filter(([first]) => first.type === 'ask' && first.call !== 'cancel')
      .map((own) => readOperation(own as [CallEvent & { process: string }, ...OperationEvent[]], this));
    this.detached = Detached.all(operations, byOperation, this);
    this.operations = withOuters(operations.map((each) => this.detached.get(each.id)?.operation ?? each));
  }

  get endsAt(): number {
    return this.events.at(-1)?.at ?? 0;
  }

  /** How much later than it happened a recorder may see an event. */
  slackMs(realMs: number): number {
    return this.exact ? ROUNDING_MS : realMs;
  }

  /** When the process was killed, or had shut down. */
  endOf(process: string): number | undefined {
    return this.endedAt.get(process);
  }

  shutsDown(process: string, by: number): boolean {
    return (this.shutdownAt.get(process) ?? Infinity) <= by;
  }

  /** How long the process, or the network in front of it, was stopped in that time, by standstills that last `leastMs`. */
  standstillMs(process: string, { from, to }: Interval, leastMs = this.slackMs(LONG_STANDSTILL_MS)): number {
    const own = [...(this.standstills.get(process) ?? []), ...(this.standstills.get(RUN) ?? [])];
    const long = own.filter((each) => each.to - each.from > leastMs);
    return long.reduce((sum, each) => sum + overlap(each, { from, to }), 0);
  }

  /** When the process turns at that time or, if it stands still then, afterwards. */
  turnsAt(process: string, at: number): number {
    const own = this.standstills.get(process) ?? [];
    return own.reduce((turns, { from, to }) => (from <= turns && turns < to ? to : turns), at);
  }

  /** When the process has run for so long after `from`. A command that it still has to send leaves after a standstill. */
  runsFor(process: string, from: number, ms: number): number {
    const stopped = (to: number): number => this.standstillMs(process, { from, to }, 0);
    let to = from + ms;
    while (ms > 0 && from + ms + stopped(to) > to) to = from + ms + stopped(to);
    return to;
  }

  /** Whether a fault or a standstill may affect the process, or any process, in that time. */
  troubled({ from, to }: Interval, process?: string): boolean {
    return this.faulty({ from, to }, process) || this.slow({ from: from - SLOW_BEFORE_MS, to }, process);
  }

  /** Whether a fault may affect the process, or any process, in that time. */
  faulty({ from, to }: Interval, process?: string): boolean {
    // In a simulation with long leases, any earlier fault may show itself.
    const near = { from: this.exact ? -Infinity : from - AFTERMATH_MS, to };
    const mine = ({ of }: Fault): boolean => of === undefined || process === undefined || of === process;
    return (
      this.faults.some((fault) => mine(fault) && overlap({ from: fault.from, to: fault.at }, near) > 0) ||
      this.dataLosses.some((loss) => loss.from <= near.to && loss.at >= near.from) ||
      (process === undefined && [...this.endedAt.values()].some((at) => between(at, near)))
    );
  }

  /** When the first command of the process could reach the server in that time; `to` when none could. */
  reachesServerAt(process: string, { from, to }: Interval): number {
    let at = from;
    const cutOff = this.faults.filter((fault) => fault.cutOff && (fault.of ?? process) === process);
    for (const fault of cutOff.sort((a, b) => a.from - b.from))
      if (fault.from <= at && fault.at - ENDS_WITHIN_MS > at) at = fault.at - ENDS_WITHIN_MS;
    return Math.min(at, to);
  }

  /** Since when the process has had no answer, at that time; the time itself if it could have one. */
  unansweredSince(process: string, at: number): number {
    let since = at;
    const cutOff = this.faults.filter((fault) => fault.cutOff && (fault.of ?? process) === process);
    for (const { name, from, at: to } of cutOff.toSorted((a, b) => b.from - a.from)) {
      // The answer to an earlier command may still pass.
      const last = name === 'half-open-to-server' ? from + ANSWERS_WITHIN_MS : from;
      if (last < since && to > since + ENDS_WITHIN_MS) since = last;
    }
    return since;
  }

  private slow(near: Interval, process: string | undefined): boolean {
    const names = process === undefined ? [...this.standstills.keys()] : [process];
    return names.some((name) => this.standstillMs(name, near) > this.slackMs(SLOW_MS));
  }

  private note(event: HistoryEvent): void {
    const { process, at } = event;
    if (event.type === 'standstill') this.stood(process, { from: event.from, to: at });
    else if (event.type === 'blocks') this.blocked.set(process, { from: at, to: at + event.ms });
    else if (event.type === 'killed' || (event.type === 'exited' && !event.byItself)) {
      const { from, to } = this.blocked.get(event.of) ?? { from: at, to: at };
      if (to > at) this.stood(event.of, { from, to: at });
      this.endedAt.set(event.of, Math.min(at, this.endedAt.get(event.of) ?? Infinity));
    } else if (event.type === 'closed') this.endedAt.set(process, at);
    else if (event.type === 'shutdown') this.shutdownAt.set(process, at);
  }

  private stood(process: string, during: Interval): void {
    this.standstills.set(process, [...(this.standstills.get(process) ?? []), during]);
  }
}

/** Connects nested calls. An outer call without a lease holds no lock, so the inner one is an ordinary call. */
function withOuters(inOrder: readonly Operation[]): Operation[] {
  const byId = new Map<string, { readonly operation: Operation; readonly nested: Operation[] }>();
  return inOrder.map((bare) => {
    const outer = byId.get(bare.inside ?? '');
    const isNested = (outer?.operation.hold?.to ?? -Infinity) > bare.calledAt;
    const nested: Operation[] = [];
    const operation: Operation = isNested
      ? { ...bare, outer: outer!.operation, nested }
      : { ...bare, inside: undefined, nested };
    if (isNested) outer!.nested.push(operation);
    byId.set(bare.id, { operation, nested });
    return operation;
  });
}

/** A fault ends up to this long before its end is recorded. */
const ENDS_WITHIN_MS = 50;
/** The limit for the answer to a command. */
const ANSWERS_WITHIN_MS = 800;
/** A process or a network that is stopped for longer in total may miss a time limit of the library. */
const SLOW_MS = 200;
const SLOW_BEFORE_MS = 1_000;

function isOfOperation(event: HistoryEvent): event is OperationEvent {
  return 'op' in event;
}
