import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import { isLockError } from '../../../libs/distribute-lock/src/errors.js';
import type { AcquireOptions } from '../../../libs/distribute-lock/src/options/lock-options.js';
import type { Locks } from './lock-engine.js';
import { monotonicMs } from '../../support/monotonic.js';

export interface CrowdPlan extends Pick<AcquireOptions, 'wait' | 'ttl' | 'kind' | 'permits'> {
  readonly key: string;
  readonly callers: number;
  /** Gives each caller its own signal, which aborts at a random time within the limit. By default they share one. */
  readonly abortEachWithinMs?: number;
}

const abortedAt = new WeakMap<AbortSignal, number>();

/** Records the time of the abort without a listener, because the test counts the listeners of the library. */
export function abort(controller: AbortController): void {
  abortedAt.set(controller.signal, monotonicMs());
  controller.abort();
}

/** Returns how the waits ended, the longest time from an abort to its rejection, and the number of listeners left. */
export async function crowd(
  { acquire }: Locks,
  { key, callers, abortEachWithinMs, ...options }: CrowdPlan,
  shared: AbortController,
) {
  const codes: Record<string, number> = {};
  let slowestMs = 0;
  let listeners = 0;
  const caller = async (): Promise<void> => {
    const own = abortEachWithinMs === undefined ? shared : new AbortController();
    if (abortEachWithinMs !== undefined) void sleep(Math.random() * abortEachWithinMs).then(() => abort(own));
    const code = await acquire(key, { ...options, signal: own.signal }).then(
      () => 'granted',
      (error: unknown) => (isLockError(error) ? error.code : String(error)),
    );
    slowestMs = Math.max(slowestMs, monotonicMs() - (abortedAt.get(own.signal) ?? NaN));
    codes[code] = (codes[code] ?? 0) + 1;
    listeners += getEventListeners(own.signal, 'abort').length;
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { codes, slowestMs, listeners };
}
