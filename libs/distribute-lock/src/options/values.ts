/** Reads and checks the values of options, of locks and of the module. */
import ms from 'ms';

import { LockConfigurationError } from '../errors.js';
import { LONGEST_MS } from '../runtime/timers.js';

/** Units of a {@link Duration}: milliseconds, seconds, minutes, hours, days and weeks. @public */
export type DurationUnit = 'ms' | 's' | 'm' | 'h' | 'd' | 'w';

/**
 * A length of time: whole milliseconds, or a string such as `'500ms'`, `'10s'`, `'2m'`. A string without a unit does not compile. Use
 * {@link duration} for text from a configuration. Options name that function as the type parameter, which messages of the
 * compiler print; it has no other effect.
 * @public
 */
export type Duration<Or extends string = string> =
  | number
  | `${number}${DurationUnit}`
  | `${number} ${DurationUnit}`
  // A number again, because the compiler prints only a parameter that is used.
  | (number & { readonly [text in Or]?: undefined });

/**
 * Converts text from a configuration, such as `'10s'`, to the milliseconds that options accept.
 * @throws LockConfigurationError when the text has no unit, is not a duration, or is longer than 2^31-1 ms
 * @example
 * ```ts
 * LockModule.forRootAsync({
 *   inject: [ConfigService],
 *   useFactory: (config: ConfigService) => ({
 *     connection: config.getOrThrow('REDIS_URL'),
 *     defaults: { ttl: duration(config.getOrThrow('LOCK_TTL')) },
 *   }),
 * })
 * ```
 * @public
 */
export function duration(text: string): number {
  const read = typeof text === 'string' ? parse(text) : undefined;
  if (read === undefined || !inRange(read, 0, LONGEST_MS)) throw wrongDuration('The duration', text, 0, LONGEST_MS);
  return read;
}

/**
 * Converts a duration to whole milliseconds.
 * @param option - name of the option, for the message
 * @throws LockConfigurationError when the value is not a whole number of milliseconds from `leastMs` to 2^31-1
 */
export function durationMs(option: string, value: Duration, leastMs = 0, mostMs = LONGEST_MS): number {
  const read = typeof value === 'string' ? parse(value) : value;
  if (typeof read === 'number' && inRange(read, leastMs, mostMs)) return read;
  throw wrongDuration(`Option "${option}"`, value, leastMs, mostMs);
}

const inRange = (value: number, leastMs: number, mostMs: number): boolean =>
  Number.isInteger(value) && value >= leastMs && value <= mostMs;

function wrongDuration(what: string, value: unknown, leastMs: number, mostMs: number): LockConfigurationError {
  return new LockConfigurationError(
    `${what} is ${shown(value)}, but it must be whole milliseconds from ${leastMs} to ${mostMs}, or a string such as "10s".`,
  );
}

function parse(text: string): number | undefined {
  // A string without a unit is more likely a mistake than a number of milliseconds.
  return /^\d+(\.\d+)?\s*[a-z]+$/i.test(text) ? ms(text as ms.StringValue) : undefined;
}

/** @throws LockConfigurationError when the value is neither true nor false */
export function checkFlag(option: string, value: unknown): asserts value is boolean {
  if (typeof value === 'boolean') return;
  throw new LockConfigurationError(`Option "${option}" is ${shown(value)}, but it must be true or false.`);
}

/** @throws LockConfigurationError when the value is not one of `allowed` */
export function checkChoice<T extends string>(
  option: string,
  value: unknown,
  allowed: readonly T[],
): asserts value is T {
  if ((allowed as readonly unknown[]).includes(value)) return;
  throw new LockConfigurationError(
    `Option "${option}" is ${shown(value)}, but it must be ${allowed.map((name) => `"${name}"`).join(' or ')}.`,
  );
}

/** @throws LockConfigurationError when the value is not a whole number from `least` to `most` */
export function checkWhole(
  option: string,
  value: unknown,
  least: number,
  most: number = Infinity,
): asserts value is number {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return;
  const range = most === Infinity ? `from ${least}` : `from ${least} to ${most}`;
  throw new LockConfigurationError(`Option "${option}" is ${shown(value)}, but it must be a whole number ${range}.`);
}

/**
 * Signals may come from another realm or from a package, so they are recognised by their members.
 * @throws LockConfigurationError when it is not a signal; a controller, for example
 */
export function checkSignal(signal: unknown): void {
  if (signal === undefined) return;
  const { aborted, addEventListener } = (signal ?? {}) as Partial<AbortSignal>;
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') return;
  throw new LockConfigurationError(`"signal" must be an AbortSignal, but it is ${shown(signal)}.`);
}

/** @throws LockConfigurationError when an option is not one of `known`: a mistyped option would be ignored */
export function checkNames(given: object, known: object, parent = ''): void {
  if (typeof given !== 'object' || given === null) {
    throw new LockConfigurationError(`The options are ${shown(given)}, but they must be an object.`);
  }
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name)) continue;
    throw new LockConfigurationError(
      `Option "${parent}${name}" is not known. Known options: ${Object.keys(known).join(', ')}.`,
    );
  }
}

/** The properties that have a value: one that is `undefined` counts as not given. */
export function defined<T extends object>(properties: T): Partial<T> {
  return Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** A wrong value as a message shows it: short, and recognisable as text or not. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 40));
  try {
    return String(value);
  } catch {
    // The value has no string form, for example because it has no prototype.
    return 'an object';
  }
}
