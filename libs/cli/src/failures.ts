import type { LockErrorCode } from 'nestjs-distribute-lock/core';

import type { Messages } from './messages.js';
import { EXIT_CODES } from './table.js';

/** Errors of the library that the command line has caused. */
const WRONG_LINE: readonly LockErrorCode[] = ['LOCK_CONFIGURATION', 'LOCK_KEY', 'LOCK_USAGE'];

/** Says why the locks cannot be used, and returns the exit code. An error that is no failure of a lock is thrown again. */
export function failure(error: unknown, messages: Messages, facts: object = {}): number {
  const code = (error as { code?: LockErrorCode } | null)?.code;
  if (!(error instanceof Error) || !/^(LOCK_|LEASE_LOST$)/.test(String(code))) throw error;
  const { cause } = error;
  // The message of a failed start names the option of a program; its cause is the reason.
  messages.say('error', code === 'LOCK_UNAVAILABLE' && cause instanceof Error ? cause.message : error.message, facts);
  if (code === 'LEASE_LOST') return EXIT_CODES.lost.code;
  return WRONG_LINE.includes(code!) ? EXIT_CODES.usage.code : EXIT_CODES.unavailable.code;
}
