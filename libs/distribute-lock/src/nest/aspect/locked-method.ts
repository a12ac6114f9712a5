import 'reflect-metadata';
import { Observable, throwError } from 'rxjs';

import { LockConfigurationError } from '../../errors.js';
import { ASPECT } from '../tokens.js';
import type { LockSpec, ResultShape } from './lock-spec.js';
import type { AnyMethod, LockInterceptor } from './lock.interceptor.js';

/**
 * Replaces a method and passes each call to the aspect of its instance.
 *
 * A `Proxy` keeps name, length and all other properties of the method, and the metadata of lower decorators is copied, so that routes,
 * guards, roles and documentation do not change. Without an aspect the call rejects: a locked method never runs unlocked.
 */
export function lockedMethod(method: AnyMethod, spec: LockSpec): AnyMethod {
  const locked = new Proxy(method, {
    apply(inner, self: (object & { [ASPECT]?: LockInterceptor }) | undefined, args: unknown[]) {
      const aspect = self?.[ASPECT];
      return self === undefined || aspect === undefined
        ? reject(spec)
        : aspect.around({ spec, method: inner, self, args });
    },
  });
  for (const key of Reflect.getOwnMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, method), locked);
  }
  return locked;
}

/** The form of the method's result, as far as it is known before a call. */
export function resultShape(target: object, name: string | symbol, method: AnyMethod): ResultShape {
  if (Object.prototype.toString.call(method) === '[object AsyncGeneratorFunction]') return 'generator';
  const declared: unknown = Reflect.getMetadata('design:returntype', target, name);
  // Not `instanceof`, because the application may have another copy of rxjs.
  const prototype = typeof declared === 'function' ? (declared.prototype as Partial<Observable<unknown>>) : undefined;
  return typeof prototype?.subscribe === 'function' && typeof prototype.pipe === 'function' ? 'observable' : 'promise';
}

/** Rejects in the form of the method's result. */
function reject({ method, shape }: LockSpec): unknown {
  const error = new LockConfigurationError(
    `${method} was called on an instance that Nest does not manage, so it did not run. @DistributeLock works on classes that Nest ` +
      'instantiates and, if LockModule is imported, on singletons that factories or values provide at start-up. Use LockService for ' +
      'all other objects.',
  );
  if (shape === 'observable') return throwError(() => error);
  if (shape === 'generator') return rejectedGenerator(error);
  return Promise.reject(error);
}

// oxlint-disable-next-line require-yield
async function* rejectedGenerator(error: Error): AsyncGenerator<never> {
  throw error;
}
