import { LockConfigurationError } from '../errors.js';
import { processWide } from '../runtime/process-wide.js';
import { shown } from './values.js';

/** The name of a call of `LockService` that has none of its own. */
export const DEFAULT_NAME = 'service';
/** Stands for every name above the limit. */
export const OTHER_NAMES = 'other';
/** Names label metrics and group estimates, so their number is limited. */
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
    `Option "name" is ${shown(name)}, but it must be a text of 1 to ${LONGEST_NAME} characters without control characters.`,
  );
}

/** The name, or `other` when the process has too many already. */
export function boundedName(name: string): string {
  if (known.has(name) || name === DEFAULT_NAME || name === OTHER_NAMES) return name;
  if (known.size >= MOST_NAMES) return OTHER_NAMES;
  known.add(name);
  return name;
}
