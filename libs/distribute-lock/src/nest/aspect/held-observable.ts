import { Observable, type Subscriber } from 'rxjs';

import type { Hold } from './hold.js';
import { Readers } from './readers.js';

/** Keeps the lock until the Observable has completed, failed or been unsubscribed. */
export function holdObservable(source: Observable<unknown>, hold: Hold): Observable<unknown> {
  const readers = new Readers(hold);
  return new Observable((subscriber) => {
    readers.checkInTime(); // what it throws is the subscriber's error
    const leave = readers.enter();
    const inner = hold.run(() => source.subscribe(forward(subscriber, hold, leave)));
    return () => {
      inner.unsubscribe();
      void leave(() => hold.release());
    };
  });
}

function forward(subscriber: Subscriber<unknown>, hold: Hold, leave: ReturnType<Readers['enter']>) {
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
