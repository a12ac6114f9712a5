import { isObservable, Observable, type Subscription } from 'rxjs';

import { LockConfigurationError } from '../../errors.js';
import { replace } from './held-results.js';
import type { DistributeLockOptions } from './lock-spec.js';

type DeclaredResult = NonNullable<DistributeLockOptions['result']>;

/** Members of results that are no promises. */
const MEMBERS: readonly (readonly [string | symbol, DeclaredResult])[] = [
  ['subscribe', 'observable'],
  ['pipe', 'observable'],
  ['next', 'iterable'],
  [Symbol.asyncIterator, 'iterable'],
];

/** @throws LockConfigurationError when a method without a declared type returned no promise, since its caller expects that form */
export function checkUndeclared(returned: unknown, method: string): void {
  if (typeof returned !== 'object' || returned === null || 'then' in returned) return;
  if (isObservable(returned)) throw undeclared(method, 'observable');
  // Streams and cursors have no `next()` of an iterator.
  if (isIterable(returned) && 'next' in returned) throw undeclared(method, 'iterable');
}

export function undeclared(method: string, result: DeclaredResult): LockConfigurationError {
  return new LockConfigurationError(
    `${method} returns an ${result}, but its metadata does not contain this type. ` +
      `Add result: '${result}' to each @DistributeLock of the method.`,
  );
}

/**
 * Returns the promise, whose use as an Observable or iterable throws.
 * @param fault - makes the error
 */
export function onlyPromise(
  promise: Promise<unknown>,
  fault: (result: DeclaredResult) => LockConfigurationError,
): Promise<unknown> {
  for (const [member, result] of MEMBERS) {
    replace(promise, member, () => {
      promise.catch(() => undefined); // the caller gets the error here
      throw fault(result);
    });
  }
  return promise;
}

/**
 * Returns an Observable that acquires the lock on subscription. Unsubscribing ends the wait.
 * @param start - acquires the lock and calls the method
 */
export function startOnSubscribe(start: (unsubscribed: AbortSignal) => Promise<unknown>): Observable<unknown> {
  return new Observable((subscriber) => {
    const unsubscribed = new AbortController();
    let inner: Subscription | undefined;
    start(unsubscribed.signal).then(
      (result) => {
        if (isObservable(result)) inner = result.subscribe(subscriber);
        else {
          // The result of `onContended`; `undefined` emits no value.
          if (result !== undefined) subscriber.next(result);
          subscriber.complete();
        }
      },
      (error: unknown) => subscriber.error(error),
    );
    return () => {
      unsubscribed.abort();
      inner?.unsubscribe();
    };
  });
}

/**
 * Returns an async generator that acquires the lock on the first `next()`.
 * @param start - acquires the lock and calls the method
 */
export async function* startOnNext(start: () => Promise<unknown>): AsyncGenerator<unknown, unknown, unknown> {
  const result = await start();
  if (!isIterable(result)) return result;
  return yield* result;
}

function isIterable(value: unknown): value is AsyncGenerator<unknown, unknown, unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
