import { isObservable, Observable, type Subscription } from 'rxjs';

/**
 * An Observable that takes the lock when it is subscribed. Unsubscribing ends the wait.
 * @param start - takes the lock and calls the method
 */
export function startOnSubscribe(start: (leaving: AbortSignal) => Promise<unknown>): Observable<unknown> {
  return new Observable((subscriber) => {
    const leaving = new AbortController();
    let inner: Subscription | undefined;
    start(leaving.signal).then(
      (result) => {
        if (isObservable(result)) inner = result.subscribe(subscriber);
        else {
          // `onContended` answered: `undefined` is its way to say nothing.
          if (result !== undefined) subscriber.next(result);
          subscriber.complete();
        }
      },
      (error: unknown) => subscriber.error(error),
    );
    return () => {
      leaving.abort();
      inner?.unsubscribe();
    };
  });
}

/**
 * An async generator that takes the lock on the first `next()`; one that is never read never takes it.
 * @param start - takes the lock and calls the method
 */
export async function* startOnNext(start: () => Promise<unknown>): AsyncGenerator<unknown, unknown, unknown> {
  const result = await start();
  if (!isIterable(result)) return result;
  return yield* result;
}

function isIterable(value: unknown): value is AsyncGenerator<unknown, unknown, unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
