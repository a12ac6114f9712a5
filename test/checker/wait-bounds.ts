import type { History, Violation } from './history.js';
import type { Operation } from './operation.js';

/** P5. */
const SETTLES_WITHIN_MS = 1_000;
/** P17: a release without a reply. */
const RELEASES_WITHIN_MS = 250;

/**
 * Every call settles: an acquire within `wait` + 1 s, an aborted one at once, a release soon. Time in which its process
 * was stopped does not count.
 */
export function checkWaitBounds(history: History): Violation[] {
  const calls = history.operations.flatMap((operation) =>
    [
      checkAcquire(operation, history),
      checkRelease(operation, history),
      checkChange(operation, history, 'extend', 'extended'),
      checkChange(operation, history, 'downgrade', 'downgraded'),
    ].filter((violation) => violation !== undefined),
  );
  return [...calls, ...checkShutdowns(history)];
}

function checkAcquire(operation: Operation, history: History): Violation | undefined {
  const { id, process, calledAt, settledAt, abortedAt, waitMs } = operation;
  const end = settledAt ?? history.endOf(process) ?? history.endsAt;
  const took = own(history, process, calledAt, end);
  const bound = waitMs + SETTLES_WITHIN_MS + history.precision.slackMs;
  const how = settledAt === undefined ? 'had not settled' : 'settled';
  if (took > bound) return fault(`${id} ${how} after ${Math.round(took)} ms; its wait is ${waitMs} ms`, operation, end);
  if (settledAt === undefined && history.endOf(process) === undefined)
    return fault(`${id} never settled`, operation, end);
  const sinceAbort = abortedAt === undefined || abortedAt > end ? 0 : own(history, process, abortedAt, end);
  if (sinceAbort <= history.precision.abortsMs) return undefined;
  return fault(`${id} ${how} ${Math.round(sinceAbort)} ms after its signal aborted`, operation, end);
}

function checkRelease(operation: Operation, history: History): Violation | undefined {
  const { id, process, events, releasedAt } = operation;
  const release = events.find(({ type }) => type === 'release');
  if (release === undefined) return undefined;
  const end = releasedAt ?? history.endOf(process) ?? history.endsAt;
  const took = own(history, process, release.at, end);
  if (took <= RELEASES_WITHIN_MS + history.precision.slackMs) return undefined;
  return fault(`${id} waited ${Math.round(took)} ms for its release`, operation, end);
}

/** An extension waits for its reply, and a downgrade until the lease ends at the latest. */
function checkChange(
  operation: Operation,
  history: History,
  type: 'extend' | 'downgrade',
  settledType: 'extended' | 'downgraded',
): Violation | undefined {
  const { id, process, events, hold } = operation;
  const begun = events.find((event) => event.type === type);
  if (begun === undefined) return undefined;
  const settled = events.find((event) => event.type === settledType);
  const end = settled?.at ?? history.endOf(process) ?? history.endsAt;
  const leftMs = type === 'extend' ? 0 : Math.max(0, hold!.provenUntil - begun.at);
  if (own(history, process, begun.at, end) <= leftMs + SETTLES_WITHIN_MS + history.precision.slackMs) return undefined;
  return fault(`${id} waited ${Math.round(end - begun.at)} ms for its ${type}`, operation, end);
}

/** P13. A process that does not end is reported by the run. */
function checkShutdowns(history: History): Violation[] {
  return history.shutdowns.flatMap(({ process, at, drainMs }) => {
    const end = history.endOf(process) ?? history.endsAt;
    if (own(history, process, at, end) <= drainMs + SETTLES_WITHIN_MS + history.precision.slackMs) return [];
    const message = `${process} closed after ${Math.round(end - at)} ms; its drain timeout is ${drainMs} ms`;
    return [{ rule: 'wait bounds', message, operations: [], at: end }];
  });
}

function own(history: History, process: string, from: number, to: number): number {
  return to - from - history.standstillMs(process, { from, to });
}

function fault(message: string, operation: Operation, at: number): Violation {
  return { rule: 'wait bounds', message, operations: [operation], at };
}
