import type { LockEngine } from '../engine/lock-engine.js';
import { LockConfigurationError } from '../errors.js';
import { LockEvents } from '../events.js';
import { checkNames } from '../options/values.js';
import type { Door, LockLog } from './door.js';
import { drainReport } from './drain-report.js';
import { logEvents } from './event-log.js';
import { stopLeaders } from './leader.js';
import { DEFAULT_CONNECTION } from './default-connection.js';
import { connectEngine, processRuntime } from './lock-runtime.js';
import { Locks } from './locks.js';
import type { LocksOptions } from './locks-options.js';
import { checkObject, LOCKS_OPTIONS, type LocksSettings, resolveLocksOptions } from './resolve-locks-options.js';

/** Options of {@link createLocks}. @public */
export interface CreateLocksOptions extends LocksOptions {
  /**
   * Receives lost connections, lost leases, long holds and contention.
   * @defaultValue writes `warn` and `log` to standard error
   * @example
   * ```ts
   * log: console
   * ```
   */
  readonly log?: LockLog;
}

/** The locks that {@link createLocks} has opened. @public */
export class OpenedLocks extends Locks {
  private closing: Promise<void> | undefined;

  /** @internal */
  constructor(
    private readonly opened: LockEngine,
    settings: LocksSettings,
    /** Reports what happens to the locks. */
    readonly events: LockEvents,
    private readonly shutDown: () => Promise<void>,
  ) {
    super(() => opened, settings);
  }

  /**
   * Rejects waiting callers, waits for held leases up to `drainTimeout`, and closes the connections that the package opened.
   * Afterwards the locks keep no process alive. Never rejects; further calls return the same promise.
   */
  close(): Promise<void> {
    stopLeaders(this.opened);
    this.opened.refuse();
    return (this.closing ??= this.shutDown());
  }

  /** Like {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Opens locks in a program without Nest. They exclude the callers of each application that has the same `connection` and `prefix`.
 *
 * It installs no signal handlers: call `close()` when the program ends.
 *
 * @example
 * ```ts
 * await using locks = await createLocks({ connection: process.env.REDIS_URL });
 * await locks.withLock('nightly-report', { wait: '10s' }, () => writeReport());
 * ```
 * @throws LockConfigurationError when an option is invalid
 * @throws LockUnavailableError when the connection fails
 * @public
 */
export async function createLocks(options: CreateLocksOptions): Promise<OpenedLocks> {
  const { locks, engine, door } = newLocks(options);
  try {
    await connectEngine(DEFAULT_CONNECTION, engine, door);
  } catch (error) {
    await engine.close();
    throw error;
  }
  return locks;
}

/** The locks of {@link createLocks} before they are connected. @internal */
export function newLocks(options: CreateLocksOptions): { locks: OpenedLocks; engine: LockEngine; door: Door } {
  checkObject('The options of createLocks', options);
  checkNames(options, { ...LOCKS_OPTIONS, log: true });
  const { connection, log = STANDARD_ERROR } = options;
  checkObject('Option "log"', log);
  for (const name of LOG_METHODS) {
    if (typeof log[name] !== 'function')
      throw new LockConfigurationError(`Option "log" has no method ${name}(), but it needs ${LOG_METHODS.join(', ')}.`);
  }
  const settings = resolveLocksOptions(options);
  const events = new LockEvents();
  logEvents(events, log);
  const door = { name: 'createLocks', log };
  const engine = processRuntime.newEngine(DEFAULT_CONNECTION, connection, { ...settings, door, events });
  return { locks: new OpenedLocks(engine, settings, events, () => end(engine, settings, log)), engine, door };
}

/** A timer that keeps the process running; those of locks do not. */
const ALIVE_MS = 60_000;

async function end(engine: LockEngine, { drainTimeoutMs }: LocksSettings, log: LockLog): Promise<void> {
  const alive = setInterval(() => undefined, ALIVE_MS);
  try {
    await engine.drain(drainTimeoutMs, drainReport(log, drainTimeoutMs));
    await engine.close();
  } finally {
    clearInterval(alive);
  }
}

const LOG_METHODS = ['debug', 'log', 'warn'] as const;
const toStandardError = (line: string): void => void process.stderr.write(`distribute-lock: ${line}\n`);
const STANDARD_ERROR: LockLog = { debug: () => undefined, log: toStandardError, warn: toStandardError };
