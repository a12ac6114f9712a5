import 'reflect-metadata';
import { Observable, throwError } from 'rxjs';

import { LockConfigurationError } from '../../errors.js';
import { ASPECT } from '../tokens.js';
import type { LockSpec, ResultShape } from './lock-spec.js';
import type { AnyMethod, LockInterceptor } from './lock.interceptor.js';

/**
 * Stands in for a method and hands each call to the aspect of its instance.
 *
 * A `Proxy` keeps name, length and whatever else the method carries, and metadata that lower decorators left on it is
 * copied, so that routes, guards, roles and documentation stay what they were. Without an aspect it refuses: a method
 * that was meant to be locked never runs unlocked.
 */
export function lockedMethod(method: AnyMethod, spec: LockSpec): AnyMethod {
  const locked = new Proxy(method, {
    apply(inner, self: (object & { [ASPECT]?: LockInterceptor }) | undefined, args: unknown[]) {
      const aspect = self?.[ASPECT];
      return self === undefined || aspect === undefined
        ? refuse(spec)
        : aspect.around({ spec, method: inner, self, args });
    },
  });
  for (const key of Reflect.getOwnMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, method), locked);
  }
  return locked;
}

/** How the method will hand out its result, as far as that can be seen before it is called. */
export function resultShape(target: object, name: string | symbol, method: AnyMethod): ResultShape {
  if (Object.prototype.toString.call(method) === '[object AsyncGeneratorFunction]') return 'generator';
  const declared: unknown = Reflect.getMetadata('design:returntype', target, name);
  // Not `instanceof`: the application may have another copy of rxjs.
  const prototype = typeof declared === 'function' ? (declared.prototype as Partial<Observable<unknown>>) : undefined;
  return typeof prototype?.subscribe === 'function' && typeof prototype.pipe === 'function' ? 'observable' : 'promise';
}

/** The refusal in the form in which the method's callers expect its result. */
function refuse({ method, shape }: LockSpec): unknown {
  const error = new LockConfigurationError(
    `${method} was called on an object that has no access to its lock, so it did not run. @DistributeLock works on instances ` +
      'that Nest made and, where LockModule is imported, on what singleton factories and values of modules bring that are there ' +
      'at start-up; for others use LockService.',
  );
  if (shape === 'observable') return throwError(() => error);
  if (shape === 'generator') return refusedGenerator(error);
  return Promise.reject(error);
}

// oxlint-disable-next-line require-yield
async function* refusedGenerator(error: Error): AsyncGenerator<never> {
  throw error;
}
