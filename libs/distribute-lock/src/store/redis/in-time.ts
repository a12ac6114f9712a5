import type { Clock } from '../../runtime/clock.js';
import { LockStoreError } from '../lock-store.js';
import { storeError } from './redis-errors.js';

/** Limits the time for an answer, because the client waits without a limit. Rejects with a {@link LockStoreError}. */
export function inTime<T>(answer: Promise<T>, limitMs: number, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const mute = (): void => reject(new LockStoreError(`Redis did not respond within ${limitMs} ms.`, true));
    // Answers that arrived while the event loop was blocked are processed first.
    const cancel = clock.after(limitMs, () => clock.nextTurn(mute));
    answer.then(resolve, (error: unknown) => reject(storeError(error))).finally(cancel);
  });
}
