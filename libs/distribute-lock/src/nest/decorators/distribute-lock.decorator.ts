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
import { type DistributeLockOptions, lockSpec } from '../aspect/lock-spec.js';
import { type AnyMethod, LockInterceptor } from '../aspect/lock.interceptor.js';
import { lockedMethod, resultShape } from '../aspect/locked-method.js';
import { ASPECT } from '../tokens.js';
import { handlersOf } from './handlers.js';
import type { LockedDecorator, NoOther, OneKey } from './method-types.js';

/**
 * Runs the method only while this process holds the lock named by `key`. It never runs unlocked: when the lock cannot be
 * had, the call ends as `onContended` says or with a `LockError`.
 *
 * On a class it covers every handler: each method, inherited ones too, that a route, message, event, subscription or resolver
 * leads to. Locks that a handler has of its own are taken inside.
 *
 * Put it **above** `@Transactional` and its like, so that the lock is given back after the commit. Several locks on one
 * method are taken from top to bottom and given back in reverse.
 *
 * The lock excludes others only while its lease is held; a process that was stopped may find out late. What must never
 * be written twice should check `lease.fencingToken`.
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
  options: Options & NoOther<Options> & OneKey<Options>,
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
  if (typeof target === 'function') {
    throw new LockConfigurationError(`@DistributeLock cannot stand on a static method: ${target.name}.${String(name)}`);
  }
  if (typeof descriptor?.value === 'function') return;
  throw new LockConfigurationError(
    `@DistributeLock needs a method, but ${target.constructor.name}.${String(name)} is none (an accessor or a property).`,
  );
}

/**
 * Locks every handler of the class, inherited ones too, outside of the locks that a handler has of its own. A handler that is
 * inherited is locked in this class only; its base class stays as it is.
 * @throws LockConfigurationError when there is no handler, or naming the one on which the lock can never work
 */
function lockClass(type: { readonly name: string; readonly prototype: object }, options: DistributeLockOptions): void {
  const { prototype } = type;
  const handlers = handlersOf(prototype);
  if (handlers.length === 0) {
    throw new LockConfigurationError(
      `@DistributeLock on the class ${type.name} finds no handler in it (route, message, event, subscription or resolver). ` +
        'Put it on the methods that need the lock.',
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
 * Puts a locked method in the place of the one in `descriptor`.
 * @param handler - how the method is called, where that is known already
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
    shape: resultShape(target, name, method),
    leaseParameters: leaseParametersOf(target).get(name) ?? [],
  });
  const locked = lockedMethod(method, spec);
  descriptor.value = locked;
  // Nest fills it on each instance, so that two applications in one process keep apart.
  if (locksOf(target).size === 0) Inject(ASPECT)(target, ASPECT);
  recordLock(target, name, spec);
  const interceptors = (Reflect.getMetadata(INTERCEPTORS_METADATA, locked) ?? []) as readonly unknown[];
  if (!interceptors.includes(LockInterceptor)) UseInterceptors(LockInterceptor)(target, name, descriptor);
}

/** The number of parameters, where rest, defaults and other decorators leave no doubt about it. */
function declaredParameters(target: object, name: string | symbol, method: AnyMethod): number | undefined {
  const types: unknown = Reflect.getMetadata('design:paramtypes', target, name);
  return Array.isArray(types) && types.length === method.length ? types.length : undefined;
}
