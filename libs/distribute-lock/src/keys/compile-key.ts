import { LockConfigurationError, LockKeyError } from '../errors.js';
import { keyFault, kindOf } from './check-key.js';
import type { RequestData } from './key-roots.js';
import { type KeySite, KeyTemplate } from './key-template.js';

/**
 * Makes the key from the arguments of the method.
 * @public
 */
// A narrower parameter list must be accepted here; the decorator compares it with the method's.
// oxlint-disable-next-line typescript/no-explicit-any
export type KeyFunction = (...args: any[]) => string;

/** Makes the key of one call. */
export type RenderKey = (args: readonly unknown[], request: RequestData | undefined, self: unknown) => string;

/** A key, checked as far as it can be without a call. */
export interface CompiledKey {
  /** Text of the template, or the method whose function makes the key. */
  readonly template: string;
  readonly render: RenderKey;
}

/** @throws LockConfigurationError naming the method, when `key` can never make a key */
export function compileKey(key: unknown, site: KeySite): CompiledKey {
  if (typeof key === 'function') return { template: site.method, render: functionKey(key as KeyFunction, site.method) };
  if (typeof key === 'string') {
    const parsed = KeyTemplate.parse(key, site);
    return { template: key, render: (args, request) => parsed.render(args, request) };
  }
  throw new LockConfigurationError(
    `Option "key" of ${site.method} is ${kindOf(key)}, but it must be a template such as "order:#{arg0.id}" or a function.`,
  );
}

function functionKey(make: KeyFunction, method: string): RenderKey {
  return (args, request, self) => {
    const key = made(make, method, args, self);
    const fault = keyFault(key);
    if (fault === undefined) return key as string;
    throw new LockKeyError(`What the key function of ${method} returned ${fault}.`, {
      method,
      source: request === undefined ? 'code' : 'request',
      ...(typeof key === 'string' ? { key } : undefined),
    });
  };
}

function made(make: KeyFunction, method: string, args: readonly unknown[], self: unknown): unknown {
  try {
    return Reflect.apply(make, self, args);
  } catch (cause) {
    throw new LockKeyError(`The key function of ${method} threw.`, { method, source: 'code', cause });
  }
}
