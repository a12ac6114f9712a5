import type { CreateLocksOptions, LockLog, OpenedLocks } from 'nestjs-distribute-lock/core';

import { placeOf } from './connection-url.js';
import type { Messages, Severity } from './messages.js';
import { type SharedValues, UsageError } from './parse.js';
import { SHARED_FLAGS } from './table.js';

/** The library, which most commands need and `--help` does not. */
export type Core = typeof import('nestjs-distribute-lock/core');
export const loadCore = (): Promise<Core> => import('nestjs-distribute-lock/core');

/** A command that waits ends when Redis was not reachable for this long. */
export const OUTAGE_LIMIT_MS = 30_000;
/** The prefix without `--prefix`. */
export const DEFAULT_PREFIX = SHARED_FLAGS.prefix.byDefault;

/** @throws UsageError when the command line and the environment name no server */
export function urlOf({ url = process.env['REDIS_URL'] }: SharedValues): string {
  if (url === undefined || url === '') throw new UsageError('No Redis server: pass --url, or set REDIS_URL.');
  return url;
}

/**
 * Opens the locks of the servers that the flags name.
 * @param warnings - the severity of warnings of the library; a command that ends at once reports its error alone
 */
export async function openLocks(
  values: SharedValues,
  messages: Messages,
  warnings: Severity = 'warn',
  options: Omit<CreateLocksOptions, 'connection' | 'log' | 'prefix'> = {},
): Promise<OpenedLocks> {
  const connection = placeOf(urlOf(values));
  const { createLocks } = await loadCore();
  const { prefix } = values;
  const log = logOf(messages, warnings);
  return createLocks({ ...options, connection, log, ...(prefix === undefined ? {} : { prefix }) });
}

const logOf = (messages: Messages, warnings: Severity): LockLog => ({
  debug: (line) => messages.say('debug', line),
  log: (line) => messages.say('debug', line),
  warn: (line) => messages.say(warnings, line),
});
