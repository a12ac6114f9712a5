import { groupBy } from './group-by.js';
import { ttlOf, type History, type Violation } from './history.js';
import { find, type Operation } from './operation.js';
import { lostAt } from './valid-holds.js';

/** The shortest validity of an offer in Redis. */
const CLAIM_WINDOW_MS = 1_750;
const SLACK_MS = 50;
/** Reasons of a loss that require a change of the data. */
const OF_DATA: ReadonlySet<string> = new Set(['deleted', 'taken', 'forced']);

/** After a stop, all due events happen first. */
const TURNS_MS = 2;
/** A timer of a busy process, and the next sample of its leases. */
const NOTIFIED_WITHIN_MS = 250;

/** Such a ttl outlasts every standstill of a slow machine that its process does not record. */
const LONG_TTL_MS = 10_000;

/** A renewal is sent after a third of the ttl. If the process is stopped for this share of it, in slices, the reply may be late. */
const STOPPED_SHARE = 0.5;

/**
 * A lease is proven for its own ttl and no longer, and is renewed only with `renew`. It is not lost without a cause, and its holder is
 * notified of its end in time.
 */
export function checkLeases(history: History): Violation[] {
  const own = history.operations.filter(({ inside }) => inside === undefined);
  const held = own.filter(({ hold }) => hold !== undefined);
  const readers = groupBy(held.filter(reads), placeOf);
  return [
    ...own.map((operation) => lostForNothing(operation, history)),
    ...held.flatMap((operation) => [
      provenTooLong(operation, reads(operation) && (readers.get(placeOf(operation)) ?? []).length > 1),
      provenLate(operation, history),
      heldTooLong(operation, history),
      takenEarly(operation, history),
      provenAfterLoss(operation, history),
      notNotified(operation, history),
    ]),
  ].filter((each) => each !== undefined);
}

const reads = ({ kind, hold }: Operation): boolean => kind === 'read' || (hold?.readsFrom ?? Infinity) < Infinity;

/** Readers of one process and key share a lease. */
const placeOf = ({ process, keys }: Operation): string => `${process} ${keys.join(' ')}`;

/** Each reader keeps its own ttl in a lease that it shares. */
function provenTooLong(operation: Operation, isShared: boolean): Violation | undefined {
  const { events, options, isMultiKey } = operation;
  let ttlMs = ttlOf(options);
  let last = Infinity;
  let leastEnd = 0;
  let changes = 0;
  for (const event of events) {
    if (event.type === 'extend') ttlMs = Math.max(ttlMs, event.ttlMs);
    // these lengthen the lease, too, before their answer or with it
    if (/^extend|^downgrade/.test(event.type)) last = Infinity;
    if (event.type === 'extend' || event.type === 'downgrade') changes += 1;
    else if (event.type === 'extended' || event.type === 'downgraded') changes -= 1;
    // A downgraded lease may join a shorter one, which is then renewed until its ttl has passed.
    if (event.type === 'downgraded') leastEnd = operation.hold!.from + ttlOf(options);
    if (event.type !== 'granted' && event.type !== 'proven') continue;
    const proven = event.until - event.at;
    if (proven > ttlMs + SLACK_MS)
      return fault(`is proven for ${Math.round(proven)} ms; its ttl is ${ttlOf(options)} ms`, operation, event.at);
    // a multi-key call renews its keys while it waits for the last one
    if (options.renew === false && !isMultiKey && event.until > last + SLACK_MS)
      return fault('was renewed in spite of `renew: false`', operation, event.at);
    // a reader that shares an older lease may have its own ttl from its entry on
    if (event.type === 'granted' && isShared) last = event.at + ttlOf(options);
    else if (changes <= 0) last = Math.max(event.until, last === Infinity ? leastEnd : last);
  }
  return undefined;
}

/** A lease begins with a proof, and no proof follows its end. */
function provenLate(operation: Operation, { exact }: History): Violation | undefined {
  const { events } = operation;
  // Between its grant and its record a real process may have stopped.
  const begun = find(events, 'granted')!;
  if (exact && begun.until <= begun.at) return fault('was granted without a proof', operation, begun.at);
  const end = events.findIndex(({ type }) => type === 'lost' || type === 'not-held' || type === 'release');
  const late = end < 0 ? undefined : events.slice(end).find(({ type }) => type === 'proven');
  return late && fault('was held again after its end', operation, late.at);
}

/** Redis renews no lock that it has lost, so the last proof ends a ttl after the loss. */
function provenAfterLoss(operation: Operation, history: History): Violation | undefined {
  const { events, keys, options, kind } = operation;
  // Redis has the lock of a single holder without its helper keys, too.
  const isSingle = kind === 'exclusive' || kind === 'write';
  for (const key of keys) {
    const loss = lostAt(operation, key, history, ({ name }) => !isSingle || name !== 'delete-helper');
    // A grant that its process saw later may be newer than the loss.
    if (loss === undefined || (!history.exact && loss.from < operation.hold!.from)) continue;
    const before = events.filter(({ at }) => at <= loss.at);
    const requested = before.map((event) => (event.type === 'extend' ? event.ttlMs : 0));
    const known = before.map((event) => ('until' in event ? event.until : 0));
    const latest = Math.max(loss.at + Math.max(ttlOf(options), ...requested), ...known) + history.slackMs(SLACK_MS);
    const again = events.find((event) => event.type === 'on-server' && event.has)?.at ?? Infinity;
    const late = events.find((event) => event.type === 'proven' && event.at < again && event.until > latest);
    if (late !== undefined) return fault('was proven although its data was lost', operation, late.at);
  }
  return undefined;
}

/** A holder whose lease has ended is notified once, at that moment or when its process runs again. */
function notNotified(operation: Operation, history: History): Violation | undefined {
  const { events, process } = operation;
  const losses = events.filter(({ type }) => type === 'lost');
  if (losses.length > 1) return fault('was reported as lost twice', operation, losses[1].at);
  const over = find(events, 'not-held');
  if (over === undefined) return undefined;
  const notifiedAt = losses[0]?.at ?? find(events, 'release')?.at ?? history.endOf(process) ?? history.endsAt;
  const lateMs = notifiedAt - over.at - history.standstillMs(process, { from: over.at, to: notifiedAt }, 0);
  if (lateMs <= (history.exact ? TURNS_MS : NOTIFIED_WITHIN_MS)) return undefined;
  return fault(`ended, and its holder was not notified for ${Math.round(lateMs)} ms`, operation, notifiedAt);
}

/** The hold of a stopped process ends with its last proof, so that proof must not be later either. */
function heldTooLong(operation: Operation, history: History): Violation | undefined {
  const { hold, options } = operation;
  const maxHoldMs = Number(options.maxHold ?? Infinity);
  if (hold === undefined || hold.to - hold.from <= maxHoldMs + history.slackMs(SLACK_MS)) return undefined;
  return fault(
    `was held for ${Math.round(hold.to - hold.from)} ms; its maxHold is ${maxHoldMs} ms`,
    operation,
    hold.to,
  );
}

function lostForNothing(operation: Operation, history: History): Violation | undefined {
  const { options, process, events } = operation;
  const isLimited = options.renew === false || options.maxHold !== undefined;
  // A multi-key call renews the keys that it keeps before its work, independent of its options.
  const lost = events.find(
    ({ type }) => type === 'lost-waiting' || (!isLimited && (type === 'lost' || type === 'not-held')),
  );
  if (lost === undefined || history.shutsDown(process, lost.at)) return undefined;
  // No lease lasts longer than the hold may.
  const ttlMs = Math.min(ttlOf(options), Number(options.maxHold ?? Infinity));
  const near = { from: lost.at - Math.max(ttlMs, CLAIM_WINDOW_MS), to: lost.at };
  const isLong = ttlMs >= LONG_TTL_MS;
  if (isLong ? history.faulty(near, process) : history.troubled(near, process)) return undefined;
  const last = { from: lost.at - ttlMs, to: lost.at };
  if (history.standstillMs(process, last, 0) > ttlMs * STOPPED_SHARE) return undefined;
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
