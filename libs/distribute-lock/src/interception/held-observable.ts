import { Observable, type Subscriber } from 'rxjs';

import { LockUsageError } from '../errors/lock-usage.error.js';
import type { Hold } from './hold.js';

/**
 * Keeps the lock until the Observable has completed, failed or been unsubscribed. The lock was taken once, so whoever
 * subscribes after it was given back is refused: the work would run unlocked.
 */
export function holdObservable(source: Observable<unknown>, hold: Hold): Observable<unknown> {
  const read = hold.releaseUnlessRead();
  let readers = 0;
  return new Observable((subscriber) => {
    read();
    if (hold.ended) {
      subscriber.error(
        new LockUsageError(`What ${hold.label} returned was subscribed after its lock had been given back.`),
      );
      return undefined;
    }
    readers += 1;
    let reading = true;
    const leave = async (end: () => Promise<void>): Promise<void> => {
      if (!reading) return;
      reading = false;
      readers -= 1;
      if (readers === 0) await end();
    };
    const inner = hold.run(() => source.subscribe(forward(subscriber, hold, leave)));
    return () => {
      inner.unsubscribe();
      void leave(() => hold.release());
    };
  });
}

function forward(subscriber: Subscriber<unknown>, hold: Hold, leave: (end: () => Promise<void>) => Promise<void>) {
  return {
    next: (value: unknown) => subscriber.next(value),
    error: (error: unknown) => void leave(() => hold.release()).then(() => subscriber.error(error)),
    complete: () =>
      void leave(() => hold.complete()).then(
        () => subscriber.complete(),
        (loss: unknown) => subscriber.error(loss),
      ),
  };
}
