import 'reflect-metadata';
import { Observable, throwError } from 'rxjs';

import { LockConfigurationError } from '../../errors.js';
import { processWide } from '../../runtime/process-wide.js';
import { ASPECT } from '../tokens.js';
import { onlyPromise } from './deferred-results.js';
import { isAspect } from './lock-metadata.js';
import type { LockSpec, ResultShape } from './lock-spec.js';
import type { AnyMethod, LockInterceptor } from './lock.interceptor.js';

const lockedMethods = processWide('locked methods', () => new WeakSet<object>());

/** Whether `@DistributeLock` made the method, and no other decorator has replaced it since. */
export const isLockedMethod = (method: unknown): boolean => typeof method === 'function' && lockedMethods.has(method);

type LockedObject = object & { [ASPECT]?: LockInterceptor };

/**
 * Replaces a method and passes each call to the aspect of its instance.
 *
 * A `Proxy` keeps name, length and all other properties of the method, and the metadata of lower decorators is copied, so that routes,
 * guards, roles and documentation do not change. Without an aspect the call rejects: a locked method never runs unlocked.
 */
export function lockedMethod(method: AnyMethod, spec: LockSpec): AnyMethod {
  const run = (self: LockedObject | undefined, args: unknown[], scheduled?: boolean): unknown => {
    const aspect = self?.[ASPECT] ?? byHand.aspect;
    if (self === undefined || aspect === undefined) return reject(spec, self === undefined ? DETACHED : BY_HAND);
    // The mock of an automatically mocked test would end the call without running the method.
    if (!isAspect(aspect)) return reject(spec, MOCKED);
    return aspect.around({ spec, method, self, args, scheduled });
  };
  const locked = new Proxy(method, {
    apply: (_inner, self: LockedObject | undefined, args: unknown[]) => run(self, args),
    // `@nestjs/schedule` calls a job by its property `call`. Other code calls it as a method of its object.
    get: (inner, name, receiver) =>
      name === 'call'
        ? (self: LockedObject | undefined, ...args: unknown[]) => run(self, args, true)
        : (Reflect.get(inner, name, receiver) as unknown),
  });
  lockedMethods.add(locked);
  for (const key of Reflect.getOwnMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, method), locked);
  }
  return locked;
}

/** The form of the method's result, as far as it is known before a call. */
export function resultShape(target: object, name: string | symbol, method: AnyMethod): ResultShape {
  const form = Object.prototype.toString.call(method);
  if (form === '[object AsyncGeneratorFunction]') return 'iterable';
  if (form === '[object GeneratorFunction]')
    throw new LockConfigurationError(
      `${target.constructor.name}.${String(name)} is a generator, whose body would run without its lock. Make it an async generator.`,
    );
  const declared: unknown = Reflect.getMetadata('design:returntype', target, name);
  if (form === '[object AsyncFunction]' || declared === Promise) return 'promise';
  // Not `instanceof`, because the application may have another copy of rxjs.
  const prototype = typeof declared === 'function' ? (declared.prototype as Partial<Observable<unknown>>) : undefined;
  return typeof prototype?.subscribe === 'function' && typeof prototype.pipe === 'function' ? 'observable' : 'unknown';
}

const byHand = processWide<{ aspect?: LockInterceptor }>('aspect of objects without Nest', () => ({}));

/** Locks objects that Nest does not manage, in tests only. */
export function lockObjectsBy(aspect: LockInterceptor): void {
  byHand.aspect = aspect;
}

const DETACHED = 'it was called without its object. Call it as a method, or bind it to its object.';
const BY_HAND =
  'its object was created with new, and Nest does not manage it. In a unit test, create the object by Test.createTestingModule() ' +
  'with LockTestingModule.forRoot() among its imports, or call new TestLocks().lockByHand() in its set-up file. Elsewhere, let Nest create it, or provide it by a factory or value at ' +
  'start-up beside LockModule; for all other objects use LockService.';
const MOCKED =
  'its lock is a mock. Add LockTestingModule.forRoot() to the imports of the testing module; then useMocker() replaces only the ' +
  'other dependencies.';

/** Rejects in the form of the method's result. */
function reject({ method, shape }: LockSpec, why: string): unknown {
  const error = new LockConfigurationError(`${method} did not run, because ${why}`);
  if (shape === 'observable') return throwError(() => error);
  if (shape === 'iterable') return rejectedGenerator(error);
  const rejected = Promise.reject(error);
  return shape === 'unknown' ? onlyPromise(rejected, () => error) : rejected;
}

// oxlint-disable-next-line require-yield
async function* rejectedGenerator(error: Error): AsyncGenerator<never> {
  throw error;
}
