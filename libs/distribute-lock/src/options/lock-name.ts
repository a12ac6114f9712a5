import { LockConfigurationError } from '../errors.js';
import { processWide } from '../runtime/process-wide.js';
import { shown } from './values.js';

/** The name of a `LockService` call whose key has no constant part. */
const DEFAULT_NAME = 'service';
/** Replaces every name above the limit. */
const OTHER_NAMES = 'other';
/** The limit of names in a process, 200 and the two above: each name adds labels to metrics and a group of estimates. */
export const MOST_NAMES = 202;
const LONGEST_NAME = 100;
/** Above this number, the first parts of keys are probably values, such as tenants. */
const MOST_KEY_NAMES = 50;

const CONTROL_CHARACTER = /\p{Cc}/u;

/** The end of the first part of a key. A key without a separator may be a value. */
const SEPARATOR = /[:/|]/;
/** A part with a digit or `@` is probably a value. */
const CONSTANT_PART = /^[a-z][a-z._-]{0,39}$/i;

/** Each name leads to its first copy, so that leases with equal names keep one string. */
const known = processWide(
  'known lock names',
  () =>
    new Map([
      [DEFAULT_NAME, DEFAULT_NAME],
      [OTHER_NAMES, OTHER_NAMES],
    ]),
);

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
  if (known.has(name)) return name;
  if (known.size >= MOST_NAMES) return OTHER_NAMES;
  known.set(name, name);
  return name;
}

let keyNames = 0;
/** The first part of the latest key that had a name, with its separator. A key that repeats it has its name without a search. */
let latestStart = ':';
let latestName = DEFAULT_NAME;

/** The name of a `LockService` call without option `name`: the constant part of its key, such as `stock` of `stock:42`, or `service`. */
export function nameOfKey(key: unknown): string {
  const text: unknown = Array.isArray(key) ? key[0] : key;
  if (typeof text !== 'string') return DEFAULT_NAME;
  if (text.startsWith(latestStart)) return latestName;
  const end = text.search(SEPARATOR);
  if (end <= 0) return DEFAULT_NAME;
  const name = text.slice(0, end);
  if (!known.has(name)) {
    if (!CONSTANT_PART.test(name) || known.size >= MOST_NAMES || keyNames >= MOST_KEY_NAMES) return DEFAULT_NAME;
    keyNames += 1;
    known.set(name, name);
  }
  latestStart = text.slice(0, end + 1);
  latestName = known.get(name)!;
  return latestName;
}
