import { groupBy } from './group-by.js';
import type { History } from './history.js';
import { ttlOf, type Operation, type OperationEvent } from './operation.js';

/** A use of a ticket: a call of `attach` or `cancel`. */
export interface TicketUse {
  readonly id: string;
  readonly call: 'attach' | 'cancel';
  readonly calledAt: number;
  /** `Infinity` without a result. */
  readonly settledAt: number;
  /** `granted`: it got the lease, or released it. `useless`: the ticket no longer held a lease. */
  readonly result: 'granted' | 'useless' | 'unknown';
}

/** Redis measures the end of a key with another clock. */
const CLOCKS_MS = 5;
/** The store undoes a command without a reply within this time. */
const UNDONE_WITHIN_MS = 2_000;

/** A lease that was detached, or whose detachment failed. It is a holder that no process renews. */
export class Detached {
  private constructor(
    /** The operation, whose hold lasts until the certain end of the detached lease. */
    readonly operation: Operation,
    readonly uses: readonly TicketUse[],
    readonly code: string | undefined,
    readonly calledAt: number,
    /** The lease lasts until then unless it is used; `calledAt` when it was not detached. */
    readonly leastEnd: number,
    /** The lease has ended by then unless it was used. */
    readonly latestEnd: number,
  ) {}

  /** The lease ends here when a use is successful. */
  static all(
    operations: readonly Operation[],
    events: ReadonlyMap<string, readonly OperationEvent[]>,
    history: History,
  ): Map<string, Detached> {
    const uses = groupBy([...events.values()].flatMap(useOf), ({ ticket }) => ticket);
    const detached = operations.flatMap((operation) => {
      const found = Detached.of(operation, uses.get(operation.id) ?? [], history);
      return found === undefined ? [] : [[operation.id, found] as const];
    });
    return new Map(detached);
  }

  private static of(operation: Operation, uses: readonly TicketUse[], history: History): Detached | undefined {
    const { hold, events, options, process } = operation;
    const detach = events.find((event) => event.type === 'detach');
    if (detach === undefined || hold === undefined) return undefined;
    const detached = events.find((event) => event.type === 'detached');
    const isClear = detached?.code === 'ok';
    const at = detached?.at ?? history.endOf(process) ?? history.endsAt;
    const isTroubled = !isClear || history.troubled({ from: detach.at, to: at }, process);
    const longestMs = isClear ? detach.ttlMs : Math.max(detach.ttlMs, ttlOf(options));
    const latestEnd = at + longestMs * 1.02 + (isTroubled ? UNDONE_WITHIN_MS : CLOCKS_MS);
    const isHeld = isClear && hold.ended === 'release';
    const leastEnd = isHeld ? detach.at + detach.ttlMs - CLOCKS_MS : detach.at;
    const usable = uses.filter(({ result }) => result !== 'useless').map(({ calledAt }) => calledAt);
    const used = uses.filter(({ result }) => result === 'granted').map(({ settledAt }) => settledAt);
    const extended = {
      ...hold,
      to: isHeld ? Math.max(hold.to, Math.min(leastEnd, ...usable)) : hold.to,
      detachedUntil: Math.min(latestEnd, ...used),
    };
    const changed = { ...operation, hold: extended };
    return new Detached(changed, uses, detached?.code, detach.at, leastEnd, latestEnd);
  }
}

function useOf(events: readonly OperationEvent[]): (TicketUse & { readonly ticket: string })[] {
  const [ask] = events;
  if (ask.type !== 'ask' || ask.ticket === undefined) return [];
  const end = events.find(({ type }) => type === 'granted' || type === 'refused' || type === 'cancelled');
  const call = ask.call === 'cancel' ? 'cancel' : 'attach';
  const use = { id: ask.op, call, calledAt: ask.at, settledAt: end?.at ?? Infinity, ticket: ask.ticket } as const;
  return [{ ...use, result: resultOf(end) }];
}

function resultOf(end: OperationEvent | undefined): TicketUse['result'] {
  if (end?.type === 'granted' || (end?.type === 'cancelled' && end.cancelled)) return 'granted';
  if (end?.type === 'cancelled' || (end?.type === 'refused' && end.code === 'LEASE_LOST')) return 'useless';
  return 'unknown';
}
