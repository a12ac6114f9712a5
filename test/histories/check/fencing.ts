import { groupBy } from './group-by.js';
import type { History, Violation } from './history.js';
import { find, weightOf, type Operation } from './operation.js';
import { lostAt, validHolds, type ValidHold } from './valid-holds.js';

/** Fencing tokens rise with the grants of a key; readers that share a lease share a token. */
export function checkFencing(history: History): Violation[] {
  const nested = history.operations.flatMap(checkNested);
  const byKey = [...validHolds(history).values()];
  const ordered = byKey.flatMap((holds) =>
    holds[0].operation.kind === 'semaphore'
      ? [...checkPermits(holds, history), ...checkLock(holds.filter(isAlone))]
      : checkLock(holds),
  );
  const reported = new Set(ordered.map(({ message }) => message));
  return [...nested, ...ordered, ...checkUnique(byKey.flat(), history).filter(({ message }) => !reported.has(message))];
}

/** A token belongs to one grant of one key. Readers share their grant, also with a writer that became a reader. */
function checkUnique(holds: readonly ValidHold[], { exact }: History): Violation[] {
  const owners = new Map<number, ValidHold>();
  return holds.flatMap((hold) => {
    const owner = owners.get(hold.token);
    owners.set(hold.token, hold);
    return owner === undefined || sharesGrant(owner, hold, exact)
      ? []
      : [{ ...fault(owner, hold), rule: 'unique tokens' }];
  });
}

function sharesGrant(
  owner: ValidHold,
  { operation: { kind, process, hold }, key }: ValidHold,
  exact: boolean,
): boolean {
  if (kind !== 'read' || owner.key !== key || owner.operation.process !== process) return false;
  return !exact || owner.readsFrom < Infinity || owner.operation.hold!.sentAt[key] === hold!.sentAt[key];
}

/** Whether it takes all permits, as the holders of all processes know them. */
function isAlone({ operation }: ValidHold, _: number, holds: readonly ValidHold[]): boolean {
  return weightOf(operation) === mostPermits(holds);
}

const mostPermits = (holds: readonly ValidHold[]): number =>
  Math.max(...holds.map(({ operation }) => operation.options.permits ?? 1));

/** Exclusive holders have rising tokens, and the readers between two of them have tokens between theirs. */
function checkLock(holds: readonly ValidHold[]): Violation[] {
  const violations: Violation[] = [];
  let writer: ValidHold | undefined;
  let readers: ValidHold[] = [];
  for (const hold of holds) {
    const reads = hold.operation.kind === 'read';
    // A writer that became a reader shares its token with the readers that joined it.
    const joins = reads && writer !== undefined && writer.readsFrom < Infinity && hold.token === writer.token;
    const before = reads ? [writer] : [writer, ...readers];
    for (const other of before) {
      if (other !== undefined && !joins && hold.token <= other.token) violations.push(fault(other, hold));
    }
    if (reads) readers.push(hold);
    else [writer, readers] = [hold, []];
  }
  return violations;
}

/** Permits are granted concurrently. A token exceeds those of all grants that its caller knows. */
function checkPermits(holds: readonly ValidHold[], history: History): Violation[] {
  const most = mostPermits(holds);
  if (history.exact && holds.some(({ operation }) => operation.options.permits !== most)) return [];
  const violations = history.exact ? checkProcesses(holds, history) : [];
  const inOrder = holds.map((hold) => ({ hold, known: knowsUntil(hold, history) })).sort((a, b) => a.known - b.known);
  let next = 0;
  let largest: ValidHold | undefined;
  for (const { hold, known } of inOrder) {
    for (; next < holds.length && holds[next].from < known; next += 1) {
      if (largest === undefined || holds[next].token > largest.token) largest = holds[next];
    }
    if (largest !== undefined && hold.token <= largest.token && !(history.exact && countsLost(hold, holds, history)))
      violations.push(fault(largest, hold));
  }
  return violations;
}

/** The tokens of a process rise. A real process may record grants of one moment in another order. */
function checkProcesses(holds: readonly ValidHold[], history: History): Violation[] {
  return [...groupBy(holds, ({ operation }) => operation.process).values()].flatMap((own) =>
    own.slice(1).flatMap((hold, i) => {
      const rises = hold.token > own[i].token || countsLost(hold, holds, history);
      return rises ? [] : [fault(own[i], hold)];
    }),
  );
}

/** Whether the process counts a permit that the server has lost. */
function countsLost(
  { operation: { process }, key, from }: ValidHold,
  holds: readonly ValidHold[],
  history: History,
): boolean {
  return holds.some(({ operation }) => {
    if (operation.process !== process || (find(operation.events, 'release')?.at ?? Infinity) < from) return false;
    return (lostAt(operation, key, history)?.from ?? Infinity) <= from;
  });
}

/** The time up to which the caller knows the tokens of other grants: its call, or the command for the grant if that was earlier. */
function knowsUntil({ operation, key, from }: ValidHold, history: History): number {
  const { calledAt, hold } = operation;
  const isFirst = (hold?.leases[key] ?? 1) === 1;
  // A process that has lost a message may hand over a permit although the store has granted a later one.
  if (!history.exact && (isFirst || history.troubled({ from: calledAt, to: from })))
    return Math.min(calledAt, hold?.sentAt[key] ?? Infinity);
  return calledAt;
}

function checkNested(operation: Operation): Violation[] {
  const { outer, hold, inside } = operation;
  const [key] = operation.keys;
  if (outer?.hold === undefined || hold === undefined || outer.hold.tokens[key] === hold.tokens[key]) return [];
  // A call inside a lost lock acquires it again.
  if (outer.hold.ended === 'lost' && outer.hold.to <= hold.from) return [];
  return [
    {
      rule: 'fencing',
      message: `${operation.id} runs inside ${inside} on ${key}, but its token ${hold.tokens[key]} is not ${outer.hold.tokens[key]}`,
      operations: [outer, operation],
      at: hold.from,
    },
  ];
}

function fault(earlier: ValidHold, later: ValidHold): Violation {
  return {
    rule: 'fencing',
    message: `${later.key}: ${later.operation.id} has the token ${later.token}, although ${earlier.operation.id} was granted before with ${earlier.token}`,
    operations: [earlier.operation, later.operation],
    at: later.from,
  };
}
