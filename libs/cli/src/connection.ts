import type { LockLog, OpenedLocks } from 'nestjs-distribute-lock/core';

import type { Messages } from './messages.js';
import { type SharedValues, UsageError } from './parse.js';

/** The library, which most commands need and `--help` does not. */
export type Core = typeof import('nestjs-distribute-lock/core');
export const loadCore = (): Promise<Core> => import('nestjs-distribute-lock/core');

/** @throws UsageError when the command line and the environment name no server */
export function urlOf({ url = process.env['REDIS_URL'] }: SharedValues): string {
  if (url === undefined || url === '') throw new UsageError('No Redis server: pass --url, or set REDIS_URL.');
  return url;
}

/** Opens the locks of the server that the flags name. */
export async function openLocks(values: SharedValues, messages: Messages): Promise<OpenedLocks> {
  const connection = urlOf(values);
  const { createLocks } = await loadCore();
  const { prefix } = values;
  return createLocks({ connection, log: logOf(messages), ...(prefix === undefined ? {} : { prefix }) });
}

export const logOf = (messages: Messages): LockLog => ({
  debug: (line) => messages.say('debug', line),
  log: (line) => messages.say('debug', line),
  warn: (line) => messages.say('warn', line),
});
