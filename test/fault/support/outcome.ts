import type { AcquireOptions } from '../../../libs/distribute-lock/src/options/lock-options.js';
import type { Locks } from './lock-engine.js';
import { monotonicMs } from '../../support/monotonic.js';

/** How a call of acquire ended, and how long it took. */
export async function outcome(locks: Locks, key: string, options: AcquireOptions = {}) {
  const startedAt = monotonicMs();
  const [result] = await Promise.allSettled([locks.acquire(key, options)]);
  const tookMs = monotonicMs() - startedAt;
  if (result.status === 'fulfilled') return { tookMs, code: 'granted', message: '' };
  const error: unknown = result.reason;
  const { code, message } = error as { code: string; message: string };
  return { tookMs, code, message, error };
}
