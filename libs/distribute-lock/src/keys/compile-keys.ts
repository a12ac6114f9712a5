import { LockConfigurationError, LockKeyError } from '../errors.js';
import { typeText, orderedKeys, resultFault } from './check-key.js';
import type { RequestData } from './key-roots.js';
import { type KeySite, KeyTemplate } from './key-template.js';

/**
 * Computes the key from the arguments of the method.
 * @public
 */
// `any[]` accepts narrower parameters; the decorator compares them with those of the method.
// oxlint-disable-next-line typescript/no-explicit-any
export type KeyFunction = (...args: any[]) => string;

/** Renders the key of one call. */
export type RenderKey = (args: readonly unknown[], request: RequestData | undefined, self: unknown) => string;

/** A key, checked as far as possible without a call. */
export interface CompiledKey {
  /** Text of the template, or the method if a function computes the key. */
  readonly template: string;
  /** Paths of the placeholders, such as `params.id`; empty if a function computes the key. */
  readonly paths: readonly string[];
  readonly render: RenderKey;
}

/** @throws LockConfigurationError naming the method, when `key` can never produce a key */
export function compileKey(key: unknown, site: KeySite): CompiledKey {
  if (typeof key === 'function')
    return { template: site.method, paths: [], render: functionKey(key as KeyFunction, site.method) };
  if (typeof key === 'string') {
    const parsed = KeyTemplate.parse(key, site);
    return { template: key, paths: parsed.paths, render: (args, request) => parsed.render(args, request) };
  }
  throw new LockConfigurationError(
    `Option "key" of ${site.method} is ${typeText(key)}, but it must be a template such as "order:#{arg0.id}" or a function.`,
  );
}

function functionKey(make: KeyFunction, method: string): RenderKey {
  return (args, request, self) => {
    const key = returned('key', make, method, args, self);
    const fault = resultFault(key);
    if (fault === undefined) return key as string;
    throw new LockKeyError(`The result of the key function of ${method} ${fault}.`, {
      method,
      source: request === undefined ? 'code' : 'request',
      ...(typeof key === 'string' ? { key } : undefined),
    });
  };
}

/**
 * Computes several keys from the arguments of the method.
 * @public
 */
// `any[]` accepts narrower parameters; the decorator compares them with those of the method.
// oxlint-disable-next-line typescript/no-explicit-any
export type KeysFunction = (...args: any[]) => readonly string[];

/** Renders the key of one call, or its keys in ascending order. */
export type RenderKeys = (
  args: readonly unknown[],
  request: RequestData | undefined,
  self: unknown,
) => string | readonly string[];

/** @throws LockConfigurationError naming the method, when `keys` can never produce keys */
export function compileKeys(
  keys: unknown,
  key: unknown,
  site: KeySite,
): Omit<CompiledKey, 'render'> & { readonly render: RenderKeys } {
  const { method } = site;
  if (key !== undefined)
    throw new LockConfigurationError(`${method} has the options "key" and "keys"; use only one of them.`);
  if (typeof keys === 'function')
    return { template: method, paths: [], render: keysFunction(keys as KeysFunction, method) };
  if (!Array.isArray(keys) || keys.length === 0) {
    const given = Array.isArray(keys) ? 'an empty list' : typeText(keys);
    throw new LockConfigurationError(
      `Option "keys" of ${method} is ${given}, but it must be a list of templates such as "account:#{body.from}" or a function.`,
    );
  }
  const compiled = keys.map((each: unknown) => compileKey(templateOnly(each, method), site));
  const renders: readonly RenderKey[] = compiled.map(({ render }) => render);
  return {
    template: compiled.map(({ template }) => template).join(', '),
    paths: compiled.flatMap(({ paths }) => paths),
    render: (args, request, self) =>
      orderedKeys(
        renders.map((render) => render(args, request, self)),
        method,
        sourceOf(request),
      ),
  };
}

/** Rejects a function within the list; a function must return all keys. */
function templateOnly(key: unknown, method: string): unknown {
  if (typeof key !== 'function') return key;
  throw new LockConfigurationError(
    `Option "keys" of ${method} contains a function; use one function that returns all keys.`,
  );
}

function keysFunction(make: KeysFunction, method: string): RenderKeys {
  return (args, request, self) => {
    const keys = returned('keys', make, method, args, self);
    if (Array.isArray(keys)) return orderedKeys(keys as string[], method, sourceOf(request), resultFault);
    const message = `The result of the keys function of ${method} is ${typeText(keys)}, not a list of keys.`;
    throw new LockKeyError(message, { method, source: 'code' });
  };
}

/** Within a request, its data determine the keys. */
const sourceOf = (request: RequestData | undefined): 'request' | 'code' => (request === undefined ? 'code' : 'request');

function returned(
  option: 'key' | 'keys',
  make: KeyFunction | KeysFunction,
  method: string,
  args: readonly unknown[],
  self: unknown,
): unknown {
  try {
    return Reflect.apply(make, self, args);
  } catch (cause) {
    throw new LockKeyError(`The ${option} function of ${method} threw.`, { method, source: 'code', cause });
  }
}
