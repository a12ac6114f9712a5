import { isObservable, Observable, type Subscription } from 'rxjs';

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
