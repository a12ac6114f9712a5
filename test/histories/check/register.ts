import { groupBy } from './group-by.js';
import type { History, Violation } from './history.js';
import type { Operation, Write } from './operation.js';
import { validHolds, type ValidHold } from './valid-holds.js';

interface AnsweredWrite {
  readonly write: Write;
  readonly operation: Operation;
  /** Whether the holder was valid from the call to the reply. */
  readonly valid: boolean;
}

/** The protected resource accepts every write of a valid holder, and loses none that it accepted. */
export function checkRegister(history: History): Violation[] {
  const holds = validHolds(history);
  const writes = history.operations.flatMap((operation) => writesOf(operation, holds));
  const refused = writes
    .filter(({ write, valid }) => valid && !write.accepted)
    .map(({ write, operation }) =>
      fault(`the write of ${operation.id} to ${write.key} with ${write.token} was refused`, [operation], write.at),
    );
  const byKey = groupBy(
    writes.filter(({ write }) => write.accepted),
    ({ write }) => write.key,
  );
  return [...refused, ...[...byKey.values()].flatMap(lostWrites)];
}

function writesOf(operation: Operation, holds: ReadonlyMap<string, readonly ValidHold[]>): AnsweredWrite[] {
  return operation.events
    .filter((event) => event.type === 'write')
    .map((write) => {
      const hold = holds.get(write.key)?.find((each) => each.operation === operation);
      return { write, operation, valid: hold !== undefined && write.at <= hold.to };
    });
}

/** Writes that were overwritten by a write that had not seen them. */
function lostWrites(accepted: readonly AnsweredWrite[]): Violation[] {
  const byVersion = new Map(accepted.map((each) => [each.write.version, each]));
  return accepted.flatMap(({ write, operation }) => {
    const violations: Violation[] = [];
    for (let version = write.seen + 1; version < write.version; version += 1) {
      const lost = byVersion.get(version);
      if (lost?.valid !== true) continue;
      const message = `${operation.id} overwrote ${write.key} without having seen the write of ${lost.operation.id}`;
      violations.push(fault(message, [lost.operation, operation], write.at));
    }
    return violations;
  });
}

function fault(message: string, operations: readonly Operation[], at: number): Violation {
  return { rule: 'register', message, operations, at };
}
