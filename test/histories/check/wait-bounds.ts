import type { History, Violation } from './history.js';
import type { HistoryEvent } from '../event.js';
import { find, provenUntil, type Operation } from './operation.js';

/** P5. */
const SETTLES_WITHIN_MS = 1_000;
/** Sends up to three commands, one after the other: the mark, the move, and another mark for the reason of a refusal. */
const ATTACHES_WITHIN_MS = 3 * SETTLES_WITHIN_MS;
/** An aborted wait ends at once. */
const ABORTS_WITHIN_MS = 250;
/** P17: a release without a reply. */
const RELEASES_WITHIN_MS = 250;
/** For turns of the event loop that are too short to be recorded as a standstill. */
const SLACK_MS = 100;

/** A simulated process rejects an aborted call before its next turn. */
const TURN_MS = 0.011;

/**
 * Every call settles: an acquire within `wait` + 1 s, an aborted one at once, a release soon, a change of the lease or a shutdown
 * within its limit + 1 s. Time in which its process was stopped does not count.
 */
export function checkWaitBounds(history: History): Violation[] {
  return history.operations
    .flatMap((operation) => [
      checkAcquire(operation, history),
      checkRelease(operation, history),
      checkChange(operation, history, 'extend', 'extended'),
      checkChange(operation, history, 'downgrade', 'downgraded'),
    ])
    .concat(history.events.map((event) => checkShutdown(event, history)))
    .filter((violation) => violation !== undefined);
}

function checkAcquire(operation: Operation, history: History): Violation | undefined {
  const { id, process, call, calledAt, settledAt, abortedAt, waitMs } = operation;
  const end = settledAt ?? history.endOf(process) ?? history.endsAt;
  const took = own(history, process, calledAt, end);
  const bound = waitMs + (call === 'attach' ? ATTACHES_WITHIN_MS : SETTLES_WITHIN_MS) + SLACK_MS;
  const how = settledAt === undefined ? 'had not settled' : 'settled';
  if (took > bound) return fault(`${id} ${how} after ${Math.round(took)} ms; its wait is ${waitMs} ms`, operation, end);
  if (settledAt === undefined && history.endOf(process) === undefined)
    return fault(`${id} never settled`, operation, end);
  const sinceAbort = abortedAt === undefined || abortedAt > end ? 0 : own(history, process, abortedAt, end);
  if (sinceAbort <= (history.exact ? TURN_MS : ABORTS_WITHIN_MS + SLACK_MS)) return undefined;
  return fault(`${id} ${how} ${Math.round(sinceAbort)} ms after its signal aborted`, operation, end);
}

function checkRelease(operation: Operation, history: History): Violation | undefined {
  const { id, process, events, releasedAt } = operation;
  const release = events.find(({ type }) => type === 'release');
  if (release === undefined) return undefined;
  const end = releasedAt ?? history.endOf(process) ?? history.endsAt;
  const took = own(history, process, release.at, end);
  if (took <= RELEASES_WITHIN_MS + SLACK_MS) return undefined;
  return fault(`${id} waited ${Math.round(took)} ms for its release`, operation, end);
}

/** The command of a downgrade may be executed as long as the lease lasts. */
function checkChange(
  operation: Operation,
  history: History,
  ...[start, end]: ['extend', 'extended'] | ['downgrade', 'downgraded']
): Violation | undefined {
  const { id, process, events } = operation;
  const call = find(events, start);
  if (call === undefined) return undefined;
  const to = find(events, end)?.at ?? history.endOf(process) ?? history.endsAt;
  const took = own(history, process, call.at, to);
  const limitMs = start === 'extend' ? 0 : Math.max(0, provenUntil(events) - call.at);
  if (took <= limitMs + SETTLES_WITHIN_MS + SLACK_MS) return undefined;
  return fault(`${id} waited ${Math.round(took)} ms for its ${start}`, operation, to);
}

function checkShutdown(event: HistoryEvent, history: History): Violation | undefined {
  if (event.type !== 'shutdown' || event.withinMs === undefined) return undefined;
  const { process, at, withinMs } = event;
  const end = history.endOf(process);
  const took = own(history, process, at, end ?? history.endsAt);
  if (end !== undefined && took <= withinMs + SETTLES_WITHIN_MS + SLACK_MS) return undefined;
  const message = `the shutdown of ${process} took ${Math.round(took)} of ${Math.round(withinMs)} ms`;
  return { rule: 'wait bounds', message, operations: [], at };
}

function own(history: History, process: string, from: number, to: number): number {
  return to - from - history.standstillMs(process, { from, to });
}

function fault(message: string, operation: Operation, at: number): Violation {
  return { rule: 'wait bounds', message, operations: [operation], at };
}
