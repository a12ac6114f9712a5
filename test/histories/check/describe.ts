import { RUN, type HistoryEvent } from '../event.js';
import type { Violation } from './history.js';

const LINES = 60;
/** Shown before and after the operations of a violation. */
const MARGIN_MS = 200;

/** The part of the history around a violation: its operations, and the events of processes and server at that time. */
export function describeViolation(
  { rule, message, operations, at }: Violation,
  events: readonly HistoryEvent[],
): string {
  const names = new Set(operations.map(({ id }) => id));
  const processes = new Set([RUN, ...operations.map(({ process }) => process)]);
  const from = Math.min(at, ...operations.map(({ calledAt }) => calledAt)) - MARGIN_MS;
  const start = events[0]?.at ?? 0;
  const lines = events
    .filter((event) =>
      'op' in event
        ? names.has(event.op)
        : processes.has(event.process) && event.at >= from && event.at <= at + MARGIN_MS,
    )
    .map((event) => lineOf(event, start));
  const shown = lines.length <= LINES ? lines : [...lines.slice(0, LINES / 2), '  ...', ...lines.slice(-LINES / 2)];
  return [`${rule}: ${message} (at ${(at - start).toFixed(1)} ms)`, ...shown].join('\n');
}

function lineOf({ at, process, type, ...rest }: HistoryEvent, start: number): string {
  const shown = Object.entries(rest).map(([name, value]) => `${name}=${text(name, value, start)}`);
  return `  ${(at - start).toFixed(1).padStart(10)}  ${process.padEnd(5)}  ${type} ${shown.join(' ')}`;
}

/** Times are shown relative to the start of the history. */
function text(name: string, value: unknown, start: number): string {
  if ((name === 'from' || name === 'until') && typeof value === 'number') return (value - start).toFixed(1);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
