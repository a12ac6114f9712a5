import type { CallName, RecordedOptions, WorkerEvent } from '../event.js';
import type { History } from './history.js';
import type { Interval } from './interval.js';

export type OperationEvent = Extract<WorkerEvent, { readonly op: string }> & { readonly process: string };
export type EventOf<Type extends OperationEvent['type']> = Extract<OperationEvent, { readonly type: Type }>;
export type Write = EventOf<'write'>;

/** The permits that the call needs. */
export const weightOf = ({ options: { weight = 1 } }: Operation): number => weight;

export const ttlOf = ({ ttl }: RecordedOptions): number => Number(ttl ?? 30_000);

/** Outcomes of calls that waited for the lock until then. */
export const WAITED: ReadonlySet<string> = new Set(['granted', 'LOCK_WAIT_TIMEOUT', 'LOCK_ABORTED']);

/** How a lease was held, from the grant that the holder saw to the end that it could know. */
export interface Hold extends Interval {
  readonly tokens: Readonly<Record<string, number>>;
  readonly sentAt: Readonly<Record<string, number>>;
  readonly leases: Readonly<Record<string, number>>;
  /** When its downgrade made it a read lock. */
  readonly readsFrom: number;
  /** The latest end of a lease that was detached, or may have been. */
  readonly detachedUntil?: number;
  /** `release`: the holder released a held lease. `open`: the history ended before. */
  readonly ended: 'release' | 'lost' | 'killed' | 'open';
}

/** One call of a lock method, from its start to its end. */
export interface Operation {
  readonly id: string;
  readonly process: string;
  readonly call: CallName;
  readonly keys: readonly string[];
  readonly options: RecordedOptions;
  readonly kind: NonNullable<RecordedOptions['kind']>;
  readonly waitMs: number;
  readonly inside: string | undefined;
  /** The call around it, if that held the lock; undefined with `inside`. */
  readonly outer: Operation | undefined;
  readonly probe: boolean;
  /** The operation that detached the lease of this call of `attach`. */
  readonly ticket: string | undefined;
  /** Whether it is a call for several keys, or a part of one. */
  readonly isMultiKey: boolean;
  readonly calledAt: number;
  /** When it was granted or refused; undefined without either. */
  readonly settledAt: number | undefined;
  /** `granted`, the code of the refusal, or undefined. */
  readonly outcome: string | undefined;
  readonly message: string;
  readonly abortedAt: number | undefined;
  readonly hold: Hold | undefined;
  /** When `release()` or `withLock` settled. */
  readonly releasedAt: number | undefined;
  /** The calls inside it, which hold its lease until their end. */
  readonly nested: readonly Operation[];
  readonly events: readonly OperationEvent[];
}

/** The outermost call, whose lease the operation holds. */
export function rootOf(operation: Operation): Operation {
  return operation.outer === undefined ? operation : rootOf(operation.outer);
}

export function readOperation(events: readonly [EventOf<'ask'>, ...OperationEvent[]], history: History): Operation {
  const [ask] = events;
  const refused = find(events, 'refused');
  const granted = find(events, 'granted');
  return {
    id: ask.op,
    process: ask.process,
    call: ask.call,
    keys: ask.keys,
    options: ask.options,
    kind: ask.options.kind ?? 'exclusive',
    waitMs: Number(ask.options.wait ?? 0),
    inside: ask.inside,
    outer: undefined,
    nested: [],
    probe: ask.probe === true,
    ticket: ask.ticket,
    isMultiKey: ask.keys.length > 1 || ask.part === true,
    calledAt: ask.at,
    settledAt: granted?.at ?? refused?.at,
    outcome: granted === undefined ? refused?.code : 'granted',
    message: refused?.message ?? '',
    abortedAt: find(events, 'abort')?.at,
    hold: granted && readHold(granted, events, history),
    releasedAt: (find(events, 'released') ?? find(events, 'ended'))?.at,
    events,
  };
}

/** A rejected downgrade leaves the write lock as it is. A shutdown does not wait for the reply, so the store may have executed it. */
function isRejected(downgraded: EventOf<'downgraded'> | undefined, history: History): boolean {
  if (downgraded === undefined) return false;
  const { code, process, at } = downgraded;
  return code !== 'ok' && code !== 'LEASE_LOST' && !history.shutsDown(process, at);
}

/** A stopped holder learns of a loss too late, so its lease ends with its last proof. */
function readHold(granted: EventOf<'granted'>, events: readonly OperationEvent[], history: History): Hold {
  const { at: from, tokens, sentAt, leases } = granted;
  const readsFrom = isRejected(find(events, 'downgraded'), history)
    ? Infinity
    : (find(events, 'downgrade')?.at ?? Infinity);
  // The fate of a lease is unclear from the call of `detach()` on.
  const release = find(events, 'detach') ?? find(events, 'release');
  const lost = events.find(({ type }) => type === 'lost' || type === 'not-held');
  const killed = history.endOf(granted.process);
  const until = provenUntil(events);
  const hold = (ended: Hold['ended'], to: number): Hold => ({
    from,
    to: Math.max(from, to),
    tokens,
    sentAt,
    leases,
    readsFrom,
    ended,
  });
  if (lost !== undefined && lost.at <= (release?.at ?? Infinity)) return hold('lost', Math.min(lost.at, until));
  if (release?.held === true) return hold('release', release.at);
  if (release !== undefined) return hold('lost', Math.min(release.at, until));
  if (killed !== undefined) return hold('killed', Math.min(killed, until));
  return hold('open', Math.min(history.endsAt, until));
}

/** The end of the last proof. A change of the lease may shorten it. */
export function provenUntil(events: readonly OperationEvent[]): number {
  const last = events.findLast(({ type }) => type === 'granted' || type === 'proven');
  return last !== undefined && 'until' in last ? last.until : Infinity;
}

export function find<Type extends OperationEvent['type']>(
  events: readonly OperationEvent[],
  type: Type,
): EventOf<Type> | undefined {
  return events.find((event): event is EventOf<Type> => event.type === type);
}
