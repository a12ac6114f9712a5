import ms from 'ms';

import { LockConfigurationError } from '../errors/lock-configuration.error.js';
import type { Duration } from './lock-options.js';
import { shown } from './shown.js';

/** The longest delay that a Node timer keeps, in milliseconds (about 24.8 days). */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Reads a duration into whole milliseconds.
 * @param option - name of the option, for the message
 * @throws LockConfigurationError when it is no whole number of milliseconds from `leastMs` to 2^31-1
 */
export function durationMs(option: string, value: Duration, leastMs = 0): number {
  const read = typeof value === 'string' ? parse(value) : value;
  if (typeof read === 'number' && Number.isInteger(read) && read >= leastMs && read <= LONGEST_MS) return read;
  throw new LockConfigurationError(
    `Option "${option}" is ${shown(value)}, but it must be whole milliseconds from ${leastMs} to ${LONGEST_MS}, or a string such as "10s".`,
  );
}

function parse(text: string): number | undefined {
  // A bare number in a string is more often a forgotten unit than a wish for milliseconds.
  return /^\d+(\.\d+)?\s*[a-z]+$/i.test(text) ? ms(text as ms.StringValue) : undefined;
}
