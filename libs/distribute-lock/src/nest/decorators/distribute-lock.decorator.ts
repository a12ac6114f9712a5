import { Inject, UseInterceptors } from '@nestjs/common';
import { INTERCEPTORS_METADATA } from '@nestjs/common/constants.js';

import { LockConfigurationError } from '../../errors.js';
import type { HandlerFacts } from '../../keys/key-roots.js';
import {
  boundParameters,
  leaseParametersOf,
  locksOf,
  recordLeaseParameter,
  recordLock,
} from '../aspect/lock-metadata.js';
import { type DistributeLockOptions, lockSpec, logEncoded } from '../aspect/lock-spec.js';
import { type AnyMethod, LockInterceptor } from '../aspect/lock.interceptor.js';
import { lockedMethod, resultShape } from '../aspect/locked-method.js';
import { ASPECT } from '../tokens.js';
import { handlersOf } from './handlers.js';
import type { CheckedOptions, LockedDecorator } from './method-types.js';

/**
 * Runs the method only while this process holds the lock of `key`. The method never runs unlocked: without the lock, the call ends as
 * `onContended` specifies, or rejects with a `LockError`.
 *
 * On a class, the decorator covers every handler: each method, also an inherited one, for a route, message, event, subscription or
 * resolver. Locks on the handler itself are acquired after the lock of the class.
 *
 * Put the decorator **above** `@Transactional` and similar decorators, so that the lock is released after the commit. Several locks on
 * one method are acquired from top to bottom and released in reverse order.
 *
 * The lock excludes other callers only while its lease is held, and a suspended process may notice the end of its lease late. Protect
 * writes that must not happen twice by checking `lease.fencingToken`.
 *
 * @throws LockConfigurationError at import, naming class and method, when key or options can never work
 *
 * @example
 * ```ts
 * @Post('post-test')
 * @DistributeLock({ key: 'post_test_#{body.channel}', ttl: '10s' })
 * async postTest(@Body() body: PostTestDto) {}
 *
 * @DistributeLock({ key: (invoice: Invoice) => `invoice:${invoice.id}`, wait: '5s' })
 * async settle(invoice: Invoice) {}
 * ```
 * @public
 */
export function DistributeLock<const Options extends DistributeLockOptions>(
  options: Options & CheckedOptions<Options>,
): LockedDecorator<Options> {
  return (target: object, name?: string | symbol, descriptor?: PropertyDescriptor) => {
    if (typeof target === 'function' && name === undefined) return lockClass(target, options);
    checkMethod(target, name!, descriptor);
    lockMethod(target, name!, descriptor, options);
  };
}

function checkMethod(
  target: object,
  name: string | symbol,
  descriptor: PropertyDescriptor | undefined,
): asserts descriptor is PropertyDescriptor {
  // The second argument of a standard decorator is its context.
  if (typeof name === 'object') {
    throw new LockConfigurationError('@DistributeLock needs "experimentalDecorators" in tsconfig.json, as Nest does.');
  }
  if (typeof target === 'function') {
    throw new LockConfigurationError(
      `@DistributeLock cannot be applied to a static method: ${target.name}.${String(name)}`,
    );
  }
  if (typeof descriptor?.value === 'function') return;
  throw new LockConfigurationError(
    `@DistributeLock needs a method, but ${target.constructor.name}.${String(name)} is an accessor or a property.`,
  );
}

/**
 * Locks every handler of the class, outside the handler's own locks. An inherited handler is locked in this class only; the base class
 * does not change.
 * @throws LockConfigurationError when the class has no handler, or when the lock can never work on one of them
 */
function lockClass(type: { readonly name: string; readonly prototype: object }, options: DistributeLockOptions): void {
  const { prototype } = type;
  const handlers = handlersOf(prototype);
  if (handlers.length === 0) {
    throw new LockConfigurationError(
      `@DistributeLock on the class ${type.name} finds no handler in it (route, message, event, subscription or resolver). ` +
        'Apply it to the methods instead.',
    );
  }
  for (const { name, owner, descriptor, facts } of handlers) {
    if (owner !== prototype) {
      for (const index of leaseParametersOf(owner).get(name) ?? []) recordLeaseParameter(prototype, name, index);
    }
    lockMethod(prototype, name, descriptor, options, facts);
    Object.defineProperty(prototype, name, descriptor);
  }
}

/**
 * Replaces the method in `descriptor` with its locked version.
 * @param handler - how requests reach the method, if known
 * @throws LockConfigurationError naming the method, when key or options can never work on it
 */
function lockMethod(
  target: object,
  name: string | symbol,
  descriptor: PropertyDescriptor,
  options: DistributeLockOptions,
  handler?: HandlerFacts,
): void {
  const method = descriptor.value as AnyMethod;
  const spec = lockSpec(options, {
    method: `${target.constructor.name}.${String(name)}`,
    bound: boundParameters(target, name),
    parameters: declaredParameters(target, name, method),
    handler,
    onEncoded: logEncoded,
    shape: resultShape(target, name, method),
    leaseParameters: leaseParametersOf(target).get(name) ?? [],
  });
  const locked = lockedMethod(method, spec);
  descriptor.value = locked;
  // Nest injects the aspect into each instance, so each application in this process uses its own.
  if (locksOf(target).size === 0) Inject(ASPECT)(target, ASPECT);
  recordLock(target, name, spec);
  const interceptors = (Reflect.getMetadata(INTERCEPTORS_METADATA, locked) ?? []) as readonly unknown[];
  if (!interceptors.includes(LockInterceptor)) UseInterceptors(LockInterceptor)(target, name, descriptor);
}

/** The number of parameters; `undefined` if rest parameters, defaults or other decorators make it uncertain. */
function declaredParameters(target: object, name: string | symbol, method: AnyMethod): number | undefined {
  const types: unknown = Reflect.getMetadata('design:paramtypes', target, name);
  return Array.isArray(types) && types.length === method.length ? types.length : undefined;
}
