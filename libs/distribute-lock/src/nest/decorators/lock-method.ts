import { Inject, UseInterceptors } from '@nestjs/common';
import { INTERCEPTORS_METADATA } from '@nestjs/common/constants.js';

import { ASPECT, boundParameters, leaseParametersOf, locksOf, recordLock } from '../aspect/lock-metadata.js';
import { type DistributeLockOptions, lockSpec } from '../aspect/lock-spec.js';
import { LockInterceptor } from '../aspect/lock.interceptor.js';
import { type AnyMethod, lockedMethod, resultShape } from '../aspect/locked-method.js';
import type { HandlerFacts } from '../../keys/key-roots.js';

/**
 * Puts a locked method in the place of the one in `descriptor`.
 * @param handler - how the method is called, where that is known already
 * @throws LockConfigurationError naming the method, when key or options can never work on it
 */
export function lockMethod(
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
