import { Inject, UseInterceptors } from '@nestjs/common';

import { LockConfigurationError } from '../errors/lock-configuration.error.js';
import { ASPECT, boundParameters, leaseParametersOf, locksOf, recordLock } from '../interception/lock-metadata.js';
import { type DistributeLockOptions, lockSpec } from '../interception/lock-spec.js';
import { LockInterceptor } from '../interception/lock.interceptor.js';
import { type AnyMethod, lockedMethod, resultShape } from '../interception/locked-method.js';
import type { LockedMethodDecorator, NoOther } from './method-types.js';

/**
 * Runs the method only while this process holds the lock named by `key`. It never runs unlocked: when the lock cannot be
 * had, the call ends as `onContended` says or with a `LockError`.
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
  options: Options & NoOther<Options>,
): LockedMethodDecorator<Options> {
  return (target: object, name: string | symbol, descriptor: PropertyDescriptor) => {
    const method = methodOf(target, name, descriptor);
    const spec = lockSpec(options, {
      method: `${target.constructor.name}.${String(name)}`,
      bound: boundParameters(target, name),
      parameters: declaredParameters(target, name, method),
      shape: resultShape(target, name, method),
      leaseParameters: leaseParametersOf(target).get(name) ?? [],
    });
    const first = !locksOf(target).has(name);
    descriptor.value = lockedMethod(method, spec);
    recordLock(target, name, spec);
    if (!first) return;
    UseInterceptors(LockInterceptor)(target, name, descriptor);
    // Nest fills it on each instance, so that two applications in one process keep apart.
    Inject(LockInterceptor)(target, ASPECT);
  };
}

function methodOf(
  target: object,
  name: string | symbol | undefined,
  descriptor: PropertyDescriptor | undefined,
): AnyMethod {
  if (typeof target === 'function' && name === undefined) {
    throw new LockConfigurationError(`@DistributeLock belongs to the methods of ${target.name}, not to the class.`);
  }
  if (typeof target === 'function') {
    throw new LockConfigurationError(`@DistributeLock cannot stand on a static method: ${target.name}.${String(name)}`);
  }
  const method: unknown = descriptor?.value;
  if (typeof method === 'function') return method as AnyMethod;
  throw new LockConfigurationError(
    `@DistributeLock needs a method, but ${target.constructor.name}.${String(name)} is none (an accessor or a property).`,
  );
}

/** The number of parameters, where rest, defaults and other decorators leave no doubt about it. */
function declaredParameters(target: object, name: string | symbol, method: AnyMethod): number | undefined {
  const types: unknown = Reflect.getMetadata('design:paramtypes', target, name);
  return Array.isArray(types) && types.length === method.length ? types.length : undefined;
}
