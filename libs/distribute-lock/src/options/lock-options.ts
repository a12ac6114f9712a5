import { LockConfigurationError } from '../errors.js';
import { type LockOptions, sameLockOptions } from './generated/lock-options.js';
import type { LockPresetName } from './presets.js';
import { checkChoice, checkFlag, checkWhole, type Duration, durationMs, shown } from './values.js';

/** A shorter lease would be lost in an ordinary delay of the event loop. */
export const MIN_TTL_MS = 50;
/** The longest time for which a ticket keeps a key locked. */
export const LONGEST_DETACHED_MS = 86_400_000;

/** The server examines the permits of a semaphore one by one. */
export const MOST_PERMITS = 1_024;

/**
 * The table of lock options: name, type, default, parser and documentation, one row for each. Everything else derives from it:
 * `npm run docs` writes the interface `LockOptions`, the function that compares the options of two calls, and the table of
 * docs/reference/options.md. This file computes defaults, merges and compares. Rules between two options follow in `checkTogether`.
 *
 * A row without `@defaultValue` gets the default that its first argument names.
 */
export const LOCK_OPTIONS = {
  /**
   * How long a *crashed* holder blocks other callers; at least 50 ms. While the work runs, the lease is renewed whenever a third of it has passed.
   * After a hand-over from another process, a `ttl` below 1750 ms counts as 1750 ms.
   */
  ttl: duration('30s', MIN_TTL_MS),
  /**
   * How long to wait while another caller holds the lock. With 0 the call fails at once.
   */
  wait: duration(0),
  /**
   * Whether the lease is renewed while the work runs. Without renewal the lease ends when `ttl` has passed.
   */
  renew: flag(true),
  /**
   * The longest time that a lease may last. Before it has passed, `lease.signal` aborts and the key is released, even if `ttl` is longer.
   * With `release: 'expire'`, the key stays locked until its `ttl` has passed.
   * @defaultValue no limit
   */
  maxHold: duration(Infinity, 1),
  /**
   * The shortest time that the key stays locked, even if the work ends earlier (cron jobs on hosts with skewed clocks).
   */
  minHold: duration(0),
  /**
   * The order of waiters. `'process'` serves processes in turn, and the callers of each process in order. `'strict'` serves the callers
   * of all processes in one order, at the cost of one command per hand-over. Readers and semaphores use their own order and ignore
   * this option.
   */
  fair: choice('process', ['process', 'strict']),
  /**
   * Whether a call chain that holds the lock may enter it again, through `withLock` or a decorated method. The inner call sends no
   * command and shares the outer lease. Without `reentrant` it would wait for itself, so it fails at once with `LockUsageError`.
   */
  reentrant: flag(false),
  /**
   * The kind of lock. `'exclusive'` and its synonym `'write'` admit one holder. `'read'` admits any number of readers while no writer
   * holds the lock or waits for it. `'semaphore'` admits holders while `permits` are free. A process uses a key either as a semaphore or not; callers of
   * another process with the other kind wait until the key is free.
   */
  kind: choice('exclusive', ['exclusive', 'write', 'read', 'semaphore']),
  /**
   * Semaphores only: the total number of permits, 1 to 1024. All callers of a process must pass the same number for a key. Another
   * process may know another number, as in a rolling deploy: each caller gets its permits while all permits in use fit within its number.
   * @defaultValue none; required for a semaphore
   */
  permits: ofSemaphore(count(0)),
  /**
   * Semaphores only: how many permits this caller takes, 1 to `permits`.
   */
  weight: ofSemaphore(count(1)),
  /**
   * When the key becomes free. `'end'`: when the work ends. `'expire'`: one `ttl` after the lock was acquired, whether the work succeeded
   * or failed (debounce, double-click protection, idempotency window). With `'expire'`, `release()` and shutdown release nothing, and
   * all waiters wait until the key expires, also those of this process.
   *
   * Longer work is renewed as usual, and the key expires one `ttl` after the last renewal: never before `ttl` has passed since the
   * acquisition, and never while the work holds its lease. After a hand-over from another process, a `ttl` below 1750 ms counts as 1750 ms. With
   * `minHold`, the later end applies. Readers of one process share a lease, which is kept until the `ttl` of each reader has passed.
   */
  release: choice('end', ['end', 'expire']),
  /**
   * What a lost lease does to `withLock` and decorated methods. `'signal'` only aborts `lease.signal`. `'throw'` also rejects the call
   * with `LeaseLostError` after the work has succeeded; if the work fails, its own error is kept. Streams, files and web responses are
   * not affected.
   */
  onLost: choice('signal', ['signal', 'throw']),
} satisfies { readonly [Name in keyof LockOptions]-?: OptionRow<NonNullable<LockOptions[Name]>, unknown> };

/** One option of the table: its default and its parser. */
interface OptionRow<Value, Resolved> {
  readonly byDefault: Resolved;
  /** Appended to the name of the resolved option. */
  readonly unit: '' | 'Ms';
  /** Only semaphores inherit the value of the layer beneath; other kinds use the default. */
  readonly ofSemaphore: boolean;
  /** @throws LockConfigurationError naming the option */
  read(option: string, value: Value): Resolved;
}

type DurationRow = OptionRow<Duration, number> & { readonly unit: 'Ms' };

function duration(byDefault: Duration, leastMs = 0): DurationRow {
  return {
    byDefault: typeof byDefault === 'number' ? byDefault : durationMs('', byDefault),
    unit: 'Ms',
    ofSemaphore: false,
    read: (option, value) => durationMs(option, value, leastMs),
  };
}

type PlainRow<Value> = OptionRow<Value, Value> & { readonly unit: '' };

function plain<Value>(
  byDefault: Value,
  check: (option: string, value: unknown) => asserts value is Value,
): PlainRow<Value> {
  const read = (option: string, value: Value): Value => {
    check(option, value);
    return value;
  };
  return { byDefault, unit: '', ofSemaphore: false, read };
}

function flag(byDefault: boolean): PlainRow<boolean> {
  return plain(byDefault, checkFlag);
}

function choice<const T extends string>(byDefault: NoInfer<T>, allowed: readonly T[]): PlainRow<T> {
  return plain<T>(byDefault, (option, value) => checkChoice(option, value, allowed));
}

function count(byDefault: number): PlainRow<number> {
  return plain<number>(byDefault, (option, value) => checkWhole(option, value, 1, MOST_PERMITS));
}

function ofSemaphore<Value>(row: PlainRow<Value>): PlainRow<Value> {
  return { ...row, ofSemaphore: true };
}

export type { LockOptions };

/** Options of one call of `LockService`. @public */
export interface AcquireOptions extends LockOptions {
  /**
   * Labels errors, events and metrics, and groups holds for the estimate of `retryAfterMs`. Use a constant that names the work, such as
   * `'reserve stock'`, never the key: a process keeps 200 names and counts all further names as `'other'`. 1 to 100 characters.
   * @defaultValue the text of the key before its first `:`, `/` or `|`, if it contains only letters, `.`, `_` and `-`; otherwise `'service'`
   */
  readonly name?: string;
  /**
   * The name of a preset of the module. Other options of the call override those of the preset.
   * @defaultValue none
   */
  readonly preset?: LockPresetName;
  /** Ends the wait with a `LockAbortedError` when it aborts. It does not end a lease that is already held. */
  readonly signal?: AbortSignal;
}

/** The names of all options of a call. */
export const CALL_OPTIONS = {
  ...LOCK_OPTIONS,
  name: true,
  preset: true,
  signal: true,
} satisfies Readonly<Record<keyof AcquireOptions, unknown>>;

type Table = typeof LOCK_OPTIONS;
type OptionName = keyof Table;

/**
 * Every lock option with its value, checked; durations are in whole milliseconds and their names end in `Ms`. `maxHoldMs` is
 * `Infinity` without a limit; `permits` is 0 unless the lock is a semaphore.
 * @internal
 */
export type ResolvedLockOptions = {
  readonly [Name in OptionName as `${Name}${Table[Name]['unit']}`]: Table[Name]['byDefault'];
};

interface NamedRow {
  readonly name: OptionName;
  readonly resolvedName: keyof ResolvedLockOptions;
  readonly row: OptionRow<unknown, unknown>;
}

const ROWS = (Object.keys(LOCK_OPTIONS) as OptionName[]).map((name) => {
  const row = LOCK_OPTIONS[name];
  return { name, resolvedName: `${name}${row.unit}`, row } as NamedRow;
});

/** The values that apply where neither module, decorator nor call names one. */
export const LOCK_DEFAULTS: ResolvedLockOptions = Object.freeze(valuesOf(({ row }) => row.byDefault));

function valuesOf(value: (row: NamedRow, soFar: Partial<ResolvedLockOptions>) => unknown): ResolvedLockOptions {
  const resolved: Record<string, unknown> = {};
  for (const row of ROWS) resolved[row.resolvedName] = value(row, resolved);
  return resolved as ResolvedLockOptions;
}

/** The presets of a module, merged with its defaults. @internal */
export type Presets = ReadonlyMap<string, ResolvedLockOptions>;

/**
 * The options beneath those of a decorator or call.
 * @throws LockConfigurationError when there is no such preset
 * @internal
 */
export function beneathOf(
  preset: string | undefined,
  presets: Presets,
  defaults: ResolvedLockOptions,
): ResolvedLockOptions {
  if (preset === undefined) return defaults;
  const found = presets.get(preset);
  if (found !== undefined) return found;
  throw new LockConfigurationError(
    `Option "preset" is ${shown(preset)}, but option "presets" does not contain it. Its presets: ${[...presets.keys()].join(', ') || 'none'}.`,
  );
}

/**
 * Merges the options of a decorator or call with those of the layer beneath, checks every rule, and freezes the result.
 * A field that is `undefined` counts as not given; `null` is an error.
 * @throws LockConfigurationError naming the option that is wrong
 */
export function resolveLockOptions(
  options: LockOptions,
  beneath: ResolvedLockOptions = LOCK_DEFAULTS,
): ResolvedLockOptions {
  for (const each of recent) {
    if (each.beneath === beneath && sameLockOptions(each.given, options)) return each.resolved;
  }
  const given: LockOptions = Object.fromEntries(ROWS.map(({ name }) => [name, options[name]]));
  const resolved = Object.freeze(merged(given, beneath));
  checkTogether(resolved);
  if (recent.length === MOST_RECENT) recent.shift();
  recent.push({ given, beneath, resolved });
  return resolved;
}

/** Most calls repeat a few sets of options: each set is read once, and the leases that use it share one object. */
const recent: { given: LockOptions; beneath: ResolvedLockOptions; resolved: ResolvedLockOptions }[] = [];
const MOST_RECENT = 8;

function merged(given: LockOptions, beneath: ResolvedLockOptions): ResolvedLockOptions {
  return valuesOf(({ name, resolvedName, row }, soFar) => {
    const value = given[name];
    if (value !== undefined) return row.read(name, value);
    return (row.ofSemaphore && soFar.kind !== 'semaphore' ? LOCK_DEFAULTS : beneath)[resolvedName];
  });
}

/** @throws LockConfigurationError when options that are valid on their own contradict each other */
function checkTogether(options: ResolvedLockOptions): void {
  checkTimes(options);
  checkPermits(options);
}

function checkTimes({ ttlMs, renew, maxHoldMs, minHoldMs }: ResolvedLockOptions): void {
  if (minHoldMs > maxHoldMs) {
    throw new LockConfigurationError(`Option "minHold" (${minHoldMs} ms) is above "maxHold" (${maxHoldMs} ms).`);
  }
  if (!renew && minHoldMs > ttlMs) {
    throw new LockConfigurationError(
      `Option "minHold" (${minHoldMs} ms) is above "ttl" (${ttlMs} ms), which is the hard end with "renew: false".`,
    );
  }
}

function checkPermits({ kind, permits, weight }: ResolvedLockOptions): void {
  if (kind !== 'semaphore') {
    if (permits === 0 && weight === 1) return;
    throw new LockConfigurationError('Options "permits" and "weight" belong to "kind: semaphore".');
  }
  if (permits === 0) {
    throw new LockConfigurationError('Option "permits" is missing: a semaphore needs the total number of its permits.');
  }
  if (weight > permits) {
    throw new LockConfigurationError(`Option "weight" (${weight}) is above "permits" (${permits}).`);
  }
}
