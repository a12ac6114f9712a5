import { ttlOf, type History, type Violation } from './history.js';
import { find, provenUntil, rootOf, type EventOf, type Operation } from './operation.js';
import { mayBeUseless } from './tickets.js';

/** Timers of the runtime may fire this early. */
const EARLY_MS = 2;
/** The end of a proof is a whole millisecond of the clock of its process. */
const WHOLE_MS = 1.1;
/** A real process samples its leases this often. */
const SAMPLED_MS = 100;

/** The options and the state of the system allow every refusal, and `withLock` ends according to `onLost`. */
export function checkOutcomes(history: History): Violation[] {
  return history.operations.flatMap((operation) => [
    ...faultsOf('outcomes', refusalFault(operation, history), operation),
    ...faultsOf('outcomes', endFault(operation, history), operation),
    ...faultsOf('outcomes', extendFault(operation, history), operation),
    ...faultsOf('outcomes', downgradeFault(operation, history), operation),
  ]);
}

function faultsOf(rule: string, message: string | undefined, operation: Operation): Violation[] {
  if (message === undefined) return [];
  const at = operation.releasedAt ?? operation.settledAt ?? operation.calledAt;
  return [{ rule, message: `${operation.id} ${message}`, operations: [operation], at }];
}

function refusalFault(operation: Operation, history: History): string | undefined {
  const { outcome, message, inside, probe } = operation;
  if (outcome === undefined) return undefined;
  if (probe && outcome !== 'granted') return 'did not get a lock that had to be free';
  if (outcome === 'granted')
    return inside === undefined || mayReenter(operation) ? undefined : 'was granted inside its own lock';
  if (isAllowed(operation, outcome, history)) return undefined;
  return `was refused with ${outcome} after ${waited(operation).toFixed(1)} of ${operation.waitMs} ms: ${message}`;
}

function isAllowed(operation: Operation, code: string, history: History): boolean {
  const { process, waitMs, calledAt, settledAt = calledAt, abortedAt = Infinity } = operation;
  const inTime = waited(operation) >= waitMs - history.slackMs(EARLY_MS);
  switch (code) {
    case 'LOCK_CONTENDED':
      return waitMs === 0;
    case 'LOCK_WAIT_TIMEOUT':
      return waitMs > 0 && inTime;
    case 'LOCK_UNAVAILABLE':
      return (
        inTime && (history.troubled({ from: calledAt, to: settledAt }, process) || answeredLate(operation, history))
      );
    case 'LOCK_ABORTED':
      return abortedAt <= settledAt;
    case 'LOCK_SHUTDOWN':
      return history.shutsDown(process, settledAt);
    case 'LEASE_LOST':
      return mayBeUseless(operation, history);
    case 'LOCK_USAGE':
      // A call chain that holds the key would wait for itself.
      return operation.inside !== undefined && !(mayReenter(operation) && isUnchanged(rootOf(operation)));
    default:
      return false;
  }
}

const mayReenter = ({ inside, kind, options }: Operation): boolean =>
  inside !== undefined && kind !== 'semaphore' && (options.reentrant === true || kind === 'read');

/** Whether it never gave up its right to write: no call that writes may enter a read lock. */
const isUnchanged = ({ events }: Operation): boolean => events.every(({ type }) => type !== 'downgrade');

/** Callers that do not wait share an attempt, whose lease may end before the answer to its command arrives. */
function answeredLate(
  { process, keys, message, calledAt, settledAt = calledAt }: Operation,
  history: History,
): boolean {
  if (!message.includes('its answer came after the end of the lease')) return false;
  return history.operations.some((other) => {
    const shares = other.process === process && other.keys.some((key) => keys.includes(key));
    const pending = other.calledAt <= settledAt && (other.settledAt ?? Infinity) >= calledAt;
    return shares && pending && settledAt - other.calledAt >= provenMs(other);
  });
}

/** A lease ends for its holder 1 % and 2 ms early. */
const proofMs = (ttlMs: number): number => ttlMs * 0.99 - 2;

/** For how long the answer to its first command proves its lease. */
function provenMs({ options }: Operation): number {
  return proofMs(Math.min(ttlOf(options), Number(options.maxHold ?? Infinity)));
}

/** A confirmed extension proves the lease for its ttl. */
function extendFault(operation: Operation, history: History): string | undefined {
  const { events, hold, options } = operation;
  const call = find(events, 'extend');
  const end = find(events, 'extended');
  if (call === undefined || end === undefined) return undefined;
  const { code, at } = end;
  if (code !== 'ok') return mayFail(end, history) ? undefined : `was not extended: ${code}`;
  // A process samples its leases while it runs.
  const seenAt = history.runsFor(operation.process, at, history.slackMs(SAMPLED_MS));
  // After a detachment no process samples the lease, although its key stays held.
  const left = Math.min(hold!.to, find(events, 'detach')?.at ?? Infinity);
  if (options.maxHold !== undefined || left < seenAt) return undefined;
  const until = provenUntil(events.filter((event) => event.at <= seenAt));
  const leastMs = proofMs(call.ttlMs) - history.slackMs(EARLY_MS) - WHOLE_MS;
  if (until >= call.at + leastMs) return undefined;
  return `was extended by ${call.ttlMs} ms, and proven for ${Math.round(until - call.at)} ms`;
}

/** A downgrade fails only with the lease, or because a nested call still writes. */
function downgradeFault(operation: Operation, history: History): string | undefined {
  const { calledAt, events, nested, options } = operation;
  const end = find(events, 'downgraded');
  if (end === undefined || end.code === 'ok' || (end.code === 'LOCK_USAGE' && nested.length > 0)) return undefined;
  const { code, at, process } = end;
  const isLimited = options.renew === false || options.maxHold !== undefined;
  const mayEnd = isLimited || history.troubled({ from: calledAt, to: at }, process);
  const isReleased = code === 'LEASE_LOST' && (find(events, 'release')?.at ?? Infinity) <= at;
  if (mayFail(end, history) && (mayEnd || isReleased || code === 'LOCK_SHUTDOWN')) return undefined;
  return `was not downgraded: ${code}`;
}

function mayFail({ code, process, at }: EventOf<'extended' | 'downgraded'>, history: History): boolean {
  if (code === 'LOCK_SHUTDOWN') return history.shutsDown(process, at);
  return code === 'LEASE_LOST' || code === 'LOCK_UNAVAILABLE';
}

const waited = ({ calledAt, settledAt = calledAt }: Operation): number => settledAt - calledAt;

/**
 * `onLost: 'throw'` rejects after a loss, `'signal'` never does. At the end of a call only the library knows of a loss.
 */
function endFault(operation: Operation, history: History): string | undefined {
  const { events, options, hold, process } = operation;
  const ended = events.find((event) => event.type === 'ended');
  const release = events.find((event) => event.type === 'release');
  if (ended === undefined || hold === undefined || release === undefined) return undefined;
  const lost = events.some(({ type, at }) => type === 'lost' && at <= release.at);
  if (options.onLost === 'throw' && lost) {
    if (ended.code === 'LEASE_LOST' || history.shutsDown(process, ended.at)) return undefined;
    return `lost its lease, and withLock ended with ${ended.code}`;
  }
  if (ended.code === 'ok') return undefined;
  // The proof may end between the end of the work and its release.
  const isOver = hold.ended === 'lost' || ended.at >= provenUntil(events);
  const mayBeLost = ended.code === 'LEASE_LOST' && options.onLost === 'throw' && isOver;
  return mayBeLost || lossBehindRelease(operation, history)
    ? undefined
    : `ended with ${ended.code}, although its lease was held`;
}

/** The reply to a release may report a loss that the holder did not know. A reader may share an older lease. */
function lossBehindRelease({ calledAt, releasedAt = calledAt, options, hold }: Operation, history: History): boolean {
  const during = { from: Math.min(calledAt, ...Object.values(hold?.sentAt ?? {})), to: releasedAt };
  return (
    options.onLost === 'throw' && history.dataLosses.some(({ at, from }) => at >= during.from && from <= during.to)
  );
}
