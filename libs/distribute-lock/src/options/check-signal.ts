import { LockConfigurationError } from '../errors/lock-configuration.error.js';
import { shown } from './shown.js';

/**
 * Signals may come from another realm or from a package, so they are known by what they do.
 * @throws LockConfigurationError when it is none; a controller, for example
 */
export function checkSignal(signal: unknown): void {
  if (signal === undefined) return;
  const { aborted, addEventListener } = (signal ?? {}) as Partial<AbortSignal>;
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') return;
  throw new LockConfigurationError(`"signal" must be an AbortSignal, but it is ${shown(signal)}.`);
}
