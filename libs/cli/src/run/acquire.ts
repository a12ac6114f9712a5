import { basename } from 'node:path';

import type { AcquireOptions, Lease, OpenedLocks } from 'nestjs-distribute-lock/core';

import { type Core, OUTAGE_LIMIT_MS, openLocks } from '../connection.js';
import type { Messages } from '../messages.js';
import { type CommandLine, type FlagValues, UsageError } from '../parse.js';
import { monotonicMs } from '../monotonic.js';
import type { Signals } from './signals.js';
import type { RunTimes } from './times.js';

/** The longest wait of the library: 24 days. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

/** @throws UsageError when flags of different kinds of locks are mixed */
export function lockOptions(values: FlagValues<'run'>, program: string, { ttlMs }: RunTimes): AcquireOptions {
  const { shared, permits, weight, name = nameOf(program), 'no-wait': noWait, wait, 'min-hold': minHold } = values;
  if (shared === true && permits !== undefined) throw new UsageError('--shared and --permits exclude each other.');
  if (weight !== undefined && permits === undefined) throw new UsageError('--weight needs --permits.');
  if (noWait === true && wait !== undefined) throw new UsageError('--no-wait and --wait exclude each other.');
  return {
    ttl: ttlMs,
    wait: noWait === true ? 0 : (wait ?? LONGEST_WAIT_MS),
    ...(shared === true ? { kind: 'read' } : {}),
    ...(permits === undefined ? {} : { kind: 'semaphore', permits, weight: weight ?? 1 }),
    name,
    ...(minHold === undefined ? {} : { minHold }),
  };
}

/** What operators see of a holder: the program of its command. */
const nameOf = (program: string): string =>
  basename(program)
    .replace(/\p{Cc}/gu, '')
    .slice(0, 100) || 'command';

/** A server that does not respond is tried for this long: the machine may be busy. */
const OPENED_WITHIN_MS = 10_000;
/** Failures of a connection that do not pass by themselves within seconds. */
const STAYS = /ECONNREFUSED|ENOTFOUND/;

/**
 * Opens the locks of a run.
 * @throws LockUnavailableError when the server refuses the connection, or does not respond
 */
export async function open(
  { isLockError, LockStoreError }: Core,
  {
    line,
    messages,
    signals,
  }: { readonly line: CommandLine<'run'>; readonly messages: Messages; readonly signals: Signals },
): Promise<OpenedLocks> {
  const until = monotonicMs() + Math.min(OPENED_WITHIN_MS, line.values.wait ?? Infinity);
  for (;;) {
    try {
      return await openLocks(line.values, messages, 'debug', { warnAfter: 0, drainTimeout: 1_000 });
    } catch (error) {
      const cause = isLockError(error, 'LOCK_UNAVAILABLE') ? error.cause : undefined;
      const passes = cause instanceof LockStoreError && cause.passing && !STAYS.test(cause.message);
      if (!passes || signals.received !== undefined || monotonicMs() >= until) throw error;
    }
  }
}

/** The wait has ended because Redis was not reachable. */
export class OutageError extends Error {
  /** The same exit code as for a lock error of this code. */
  readonly code = 'LOCK_UNAVAILABLE';

  constructor(reason: string) {
    super(`Redis was not reachable for ${OUTAGE_LIMIT_MS / 1_000} s: ${reason}`);
  }
}

/**
 * Acquires the lock. An outage of Redis is waited out for some time, and without `--wait` there is no other limit.
 * @throws OutageError, or LockError
 */
export async function acquire(
  { isLockError }: Core,
  locks: OpenedLocks,
  { key, values }: CommandLine<'run'>,
  options: AcquireOptions,
  wait: AbortController,
  messages: Messages,
): Promise<Lease> {
  const outage = new Outage(locks, wait);
  try {
    for (;;) {
      messages.say('debug', `requests the lock "${key}"`);
      try {
        return await locks.acquire(key, { ...options, signal: wait.signal });
      } catch (error) {
        if (outage.error !== undefined) throw outage.error;
        if (values.wait !== undefined || !isLockError(error, 'LOCK_WAIT_TIMEOUT')) throw error;
      }
    }
  } finally {
    outage.stop();
  }
}

/** Ends the wait when no connection has come back for too long. */
class Outage {
  private timer: NodeJS.Timeout | undefined;
  private readonly stopListening: () => void;
  error: OutageError | undefined;

  constructor(locks: OpenedLocks, wait: AbortController) {
    this.stopListening = locks.events.listen(
      ({ type, error }) => {
        if (type === 'reconnected') this.clear();
        else this.timer ??= setTimeout(() => this.end(wait, error?.message ?? 'no answer'), OUTAGE_LIMIT_MS);
      },
      'disconnected',
      'reconnected',
    );
  }

  stop(): void {
    this.clear();
    this.stopListening();
  }

  private clear(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private end(wait: AbortController, reason: string): void {
    this.error = new OutageError(reason);
    wait.abort();
  }
}
