/**
 * What instances tell each other while a page is open. Every client with the right to publish can forge these messages, so they
 * are hints: they are checked for their form, shown as text, and never decide about a lock.
 */

/** `<connection> <key>`: a lock of one of the connections. */
export type LockRef = string;

/** How a bar ended; `open`: it has not. `detached`: the key stays locked for a ticket. */
export const OUTCOMES = ['open', 'released', 'lost', 'refused', 'detached'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** A lock that an instance holds or waits for. Times are in milliseconds since 1970, on the clock of the sender; 0 for none. */
export interface LockReport {
  readonly ref: LockRef;
  readonly name: string;
  readonly kind: string;
  readonly holders: number;
  readonly since: number;
  readonly until: number;
  readonly waiting: number;
  readonly waitingSince: number;
}

/** A hold, or refusals at one time. A later report with the same number replaces an earlier one. */
export interface BarReport {
  readonly number: number;
  readonly ref: LockRef;
  readonly name: string;
  readonly kind: string;
  readonly start: number;
  /** 0 while it is open. */
  readonly end: number;
  readonly outcome: Outcome;
  /** Number of refused calls. */
  readonly count: number;
}

/** The changes at one instance since its previous summary. */
export interface Summary {
  readonly instance: string;
  readonly label: string;
  /** Increases by one with each summary; 0 begins the full state. */
  readonly number: number;
  readonly at: number;
  readonly locks: readonly LockReport[];
  readonly gone: readonly LockRef[];
  readonly bars: readonly BarReport[];
  readonly waiting: number;
  /** 0 without a waiter. */
  readonly waitingSince: number;
  /** Leases lost since the instance started. */
  readonly lost: number;
}

/** Messages of the channel. */
export type Hint =
  | { readonly type: 'summary'; readonly summary: Summary }
  /** A page is open at `viewer`; it shows these locks. `again`: send the full state. */
  | { readonly type: 'ask'; readonly viewer: string; readonly refs: readonly LockRef[]; readonly again: boolean }
  /** The last page of `viewer` is closed; `stops`: the instance stops. */
  | { readonly type: 'bye'; readonly viewer: string; readonly stops: boolean };

const VERSION = 1;
/** A longer message is ignored. */
const LONGEST_MESSAGE = 1_000_000;
const LONGEST_TEXT = 1_500;
const MOST_ENTRIES = 2_000;

type LockWords = readonly [string, string, string, number, number, number, number, number];
type BarWords = readonly [number, string, string, string, number, number, number, number];

/** Writes a message; fields are named by their place, because most of a message repeats them. */
export function write(hint: Hint): string {
  if (hint.type === 'ask') return JSON.stringify({ v: VERSION, ask: hint.viewer, refs: hint.refs, again: hint.again });
  if (hint.type === 'bye') return JSON.stringify({ v: VERSION, bye: hint.viewer, stops: hint.stops });
  const { locks, bars, ...rest } = hint.summary;
  const lockWords = locks.map((lock): LockWords => {
    const { ref, name, kind, holders, since, until, waiting, waitingSince } = lock;
    return [ref, name, kind, holders, since, until, waiting, waitingSince];
  });
  const barWords = bars.map(({ number, ref, name, kind, start, end, outcome, count }): BarWords => {
    return [number, ref, name, kind, start, end, OUTCOMES.indexOf(outcome), count];
  });
  return JSON.stringify({ v: VERSION, ...rest, locks: lockWords, bars: barWords });
}

/** Reads a message; `undefined` for every text that {@link write} does not produce. */
export function read(text: string): Hint | undefined {
  if (text.length > LONGEST_MESSAGE) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { v, ask, bye, ...rest } = value as Record<string, unknown>;
  if (v !== VERSION) return undefined;
  if (isText(bye)) return { type: 'bye', viewer: bye, stops: rest['stops'] === true };
  if (ask === undefined) return readSummary(rest);
  const { refs, again } = rest;
  if (!isText(ask) || !isListOf(refs, isText) || typeof again !== 'boolean') return undefined;
  return { type: 'ask', viewer: ask, refs, again };
}

function readSummary(words: Record<string, unknown>): Hint | undefined {
  const { instance, label, number, at, locks, gone, bars, waiting, waitingSince, lost } = words;
  if (!isText(instance) || !isText(label)) return undefined;
  if (!isCount(number) || !isCount(at) || !isCount(waiting) || !isCount(waitingSince) || !isCount(lost)) {
    return undefined;
  }
  if (!isListOf(locks, isLock) || !isListOf(bars, isBar) || !isListOf(gone, isText)) return undefined;
  const summary = {
    ...{ instance, label, number, at, gone, waiting, waitingSince, lost },
    locks: locks.map(lockOf),
    bars: bars.map(barOf),
  };
  return { type: 'summary', summary };
}

function lockOf([ref, name, kind, holders, since, until, waiting, waitingSince]: LockWords): LockReport {
  return { ref, name, kind, holders, since, until, waiting, waitingSince };
}

function barOf([number, ref, name, kind, start, end, outcome, count]: BarWords): BarReport {
  return { number, ref, name, kind, start, end, outcome: OUTCOMES[outcome], count };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= LONGEST_TEXT;

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function isListOf<T>(value: unknown, is: (entry: unknown) => entry is T): value is T[] {
  return Array.isArray(value) && value.length <= MOST_ENTRIES && value.every(is);
}

/** Whether the list has as many texts and counts as the letters `t` and `c` of `form` say. */
function hasForm(value: unknown, form: string): boolean {
  if (!Array.isArray(value) || value.length !== form.length) return false;
  return value.every((word, at) => (form[at] === 't' ? isText(word) : isCount(word)));
}

const isLock = (value: unknown): value is LockWords => hasForm(value, 'tttccccc');

const isBar = (value: unknown): value is BarWords =>
  hasForm(value, 'ctttcccc') && OUTCOMES[(value as BarWords)[6]] !== undefined;
