import { groupBy } from './group-by.js';
import { ttlOf, type History, type Violation } from './history.js';
import type { Operation } from './operation.js';

/** The shortest validity of an offer in Redis. */
const CLAIM_WINDOW_MS = 1_750;
const SLACK_MS = 50;
/** Reasons of a loss that require a change of the data. */
const OF_DATA: ReadonlySet<string> = new Set(['deleted', 'taken', 'forced']);

/** Such a ttl outlasts every standstill of a slow machine that its process does not record. */
const LONG_TTL_MS = 10_000;

/** A renewal is sent after a third of the ttl. If the process is stopped for this share of it, in slices, the reply may be late. */
const STOPPED_SHARE = 0.5;

/** A lease is proven for its own ttl and no longer, is renewed only with `renew`, and is not lost without a cause. */
export function checkLeases(history: History): Violation[] {
  const held = history.operations.filter(({ hold, inside }) => hold !== undefined && inside === undefined);
  const readers = groupBy(held.filter(reads), placeOf);
  return held.flatMap((operation) =>
    [
      provenTooLong(operation, reads(operation) && (readers.get(placeOf(operation)) ?? []).length > 1),
      heldTooLong(operation),
      lostForNothing(operation, history),
      takenEarly(operation, history),
    ].filter((each) => each !== undefined),
  );
}

const reads = ({ kind, hold }: Operation): boolean => kind === 'read' || (hold?.readsFrom ?? Infinity) < Infinity;

/** Readers of one process and key share a lease. */
const placeOf = ({ process, keys }: Operation): string => `${process} ${keys.join(' ')}`;

/** Each reader keeps its own ttl in a lease that it shares. */
function provenTooLong(operation: Operation, isShared: boolean): Violation | undefined {
  const { events, options, keys } = operation;
  let ttlMs = ttlOf(options);
  let last = Infinity;
  let leastEnd = 0;
  for (const event of events) {
    if (event.type === 'extend') ttlMs = Math.max(ttlMs, event.ttlMs);
    // these lengthen the lease, too
    if (/^extend|^downgrade/.test(event.type)) last = Infinity;
    // A downgraded lease may join a shorter one, which is then renewed until its ttl has passed.
    if (event.type === 'downgraded') leastEnd = operation.hold!.from + ttlOf(options);
    if (event.type !== 'granted' && event.type !== 'proven') continue;
    const proven = event.until - event.at;
    if (proven > ttlMs + SLACK_MS)
      return fault(`is proven for ${Math.round(proven)} ms; its ttl is ${ttlOf(options)} ms`, operation, event.at);
    // a multi-key call renews its keys while it waits for the last one
    if (options.renew === false && keys.length === 1 && event.until > last + SLACK_MS)
      return fault('was renewed in spite of `renew: false`', operation, event.at);
    // a reader that shares an older lease may have its own ttl from its entry on
    if (event.type === 'granted' && isShared) last = event.at + ttlOf(options);
    else last = Math.max(event.until, last === Infinity ? leastEnd : last);
  }
  return undefined;
}

/** The hold of a stopped process ends with its last proof, so that proof must not be later either. */
function heldTooLong(operation: Operation): Violation | undefined {
  const { hold, options } = operation;
  const maxHoldMs = Number(options.maxHold ?? Infinity);
  if (hold === undefined || hold.to - hold.from <= maxHoldMs + SLACK_MS) return undefined;
  return fault(
    `was held for ${Math.round(hold.to - hold.from)} ms; its maxHold is ${maxHoldMs} ms`,
    operation,
    hold.to,
  );
}

function lostForNothing(operation: Operation, history: History): Violation | undefined {
  const { hold, options, process, events } = operation;
  const lost = events.find((event) => event.type === 'lost' || event.type === 'not-held');
  if (hold === undefined || lost === undefined) return undefined;
  if (options.renew === false || options.maxHold !== undefined || history.shutsDown(process, lost.at)) return undefined;
  const near = { from: lost.at - Math.max(ttlOf(options), CLAIM_WINDOW_MS), to: lost.at };
  const isLong = ttlOf(options) >= LONG_TTL_MS;
  if (isLong ? history.faulty(near, process) : history.troubled(near, process)) return undefined;
  const last = { from: lost.at - ttlOf(options), to: lost.at };
  if (history.standstillMs(process, last, 0) > ttlOf(options) * STOPPED_SHARE) return undefined;
  return fault('was lost without a cause', operation, lost.at);
}

/**
 * A lease ends for its holder before its key ends in Redis. So only a data loss lets it find another owner, or none.
 */
function takenEarly(operation: Operation, { dataLosses }: History): Violation | undefined {
  const { events, hold, keys } = operation;
  const lost = events.find((event) => event.type === 'lost');
  if (hold === undefined || lost?.reason === undefined || !OF_DATA.has(lost.reason)) return undefined;
  const since = Math.min(...Object.values(hold.sentAt));
  const mine = dataLosses.filter(({ key }) => key === undefined || keys.includes(key));
  if (mine.some(({ from, at }) => from <= lost.at && at >= since)) return undefined;
  return fault(`was lost for the reason "${lost.reason}", though no data was lost`, operation, lost.at);
}

function fault(message: string, operation: Operation, at: number): Violation {
  return {
    rule: 'leases',
    message: `the lease of ${operation.id} on ${operation.keys.join(' and ')} ${message}`,
    operations: [operation],
    at,
  };
}
