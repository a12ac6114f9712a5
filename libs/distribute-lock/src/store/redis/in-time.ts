import type { Clock } from '../../runtime/clock.js';
import { LockStoreError } from '../lock-store.js';
import { storeError } from './redis-errors.js';

/** The answer of a client, which waits without end for a server that is mute. Rejects with a {@link LockStoreError}. */
export function inTime<T>(answer: Promise<T>, limitMs: number, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const mute = (): void => reject(new LockStoreError(`Redis did not answer within ${limitMs} ms.`, true));
    // A blocked event loop is not a mute server: answers that have arrived get a turn of the loop first.
    const cancel = clock.after(limitMs, () => clock.nextTurn(mute));
    answer.then(resolve, (error: unknown) => reject(storeError(error))).finally(cancel);
  });
}
