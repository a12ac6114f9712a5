import { LockConfigurationError } from '../errors.js';
import { processWide } from '../runtime/process-wide.js';
import { shown } from './values.js';

/** The name of a `LockService` call without option `name`. */
export const DEFAULT_NAME = 'service';
/** Replaces every name above the limit. */
const OTHER_NAMES = 'other';
/** The limit of names in a process: each name adds labels to metrics and a group of estimates. */
export const MOST_NAMES = 200;
const LONGEST_NAME = 100;

const CONTROL_CHARACTER = /\p{Cc}/u;

const known = processWide('lock names', () => new Set<string>());

/**
 * Checks option `name` of a call.
 * @throws LockConfigurationError when it is not a usable name
 */
export function lockName(name: string): string {
  if (known.has(name)) return name;
  if (typeof name === 'string' && name !== '' && name.length <= LONGEST_NAME && !CONTROL_CHARACTER.test(name))
    return boundedName(name);
  throw new LockConfigurationError(
    `Option "name" is ${shown(name)}, but it must be a string of 1 to ${LONGEST_NAME} characters without control characters.`,
  );
}

/** Returns the name, or `other` when the process has reached its limit of names. */
export function boundedName(name: string): string {
  if (known.has(name) || name === DEFAULT_NAME || name === OTHER_NAMES) return name;
  if (known.size >= MOST_NAMES) return OTHER_NAMES;
  known.add(name);
  return name;
}
