import { isLockError } from '../../../libs/distribute-lock/src/errors.js';
import { durationMs } from '../../../libs/distribute-lock/src/options/values.js';
import type { Lease } from '../../../libs/distribute-lock/src/engine/lease/lease.js';
import type { AcquireOptions } from '../../../libs/distribute-lock/src/options/lock-options.js';
import type { Locks } from './lock-engine.js';
import { monotonicMs } from '../../support/monotonic.js';

export interface FightPlan extends Omit<AcquireOptions, 'signal'> {
  /** One key, or several keys for one call. */
  readonly key: string | readonly string[];
  readonly callers: number;
  readonly forMs: number;
  /** The callers continue after `forMs` until they have had this many holds, so that a busy machine is only slower. */
  readonly leastHolds?: number;
  /** The longest time of a hold. */
  readonly holdMs: number;
  /** Share of the waits that are aborted at a random time. */
  readonly aborts?: number;
  /** Pause of a caller after each hold. */
  readonly gapMs?: number;
}

/** One hold as its process saw it. `left` is the end of its work, or the time at which it was notified of the loss. */
export interface Hold {
  readonly entered: number;
  readonly left: number;
  readonly fencingToken: number;
}

/** Callers that acquire the lock repeatedly. Counts refusals by code. */
export async function fight(
  locks: Locks,
  { key, callers, forMs, leastHolds = 0, holdMs, aborts = 0, gapMs = 0, ...options }: FightPlan,
) {
  const holds: Hold[] = [];
  const refusals: Record<string, number> = {};
  const until = monotonicMs() + forMs;
  const caller = async (): Promise<void> => {
    while (monotonicMs() < until || holds.length < leastHolds) {
      const signal =
        Math.random() < aborts
          ? AbortSignal.timeout(Math.ceil(Math.random() * durationMs('wait', options.wait ?? 0)) + 1)
          : undefined;
      try {
        const lease = await take(locks, key, { ...options, signal });
        holds.push(await hold(lease, Math.random() * holdMs));
        if (gapMs > 0) await pause(gapMs);
      } catch (error) {
        const code = isLockError(error) ? error.code : String(error);
        refusals[code] = (refusals[code] ?? 0) + 1;
        await pause(20);
      }
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { holds, refusals };
}

function take(locks: Locks, key: string | readonly string[], options: AcquireOptions): Promise<Lease> {
  return typeof key === 'string' ? locks.acquire(key, options) : locks.acquireMultiKey(key, options);
}

export async function hold(lease: Lease, ms: number): Promise<Hold> {
  const entered = monotonicMs();
  // The test must not rely on isHeld(): being granted is the claim.
  const { signal, fencingToken } = lease;
  await pause(ms, signal);
  const left = monotonicMs();
  await lease.release();
  return { entered, left, fencingToken };
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    }
    if (signal?.aborted === true) done();
    else signal?.addEventListener('abort', done);
  });
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

export interface FloodPlan {
  readonly key: string;
  readonly callers: number;
  readonly passes: number;
  readonly intervalMs: number;
}

/** Acquires and releases without I/O, and measures how late an interval fires. */
export async function flood({ acquire, events }: Locks, { key, callers, passes, intervalMs }: FloodPlan) {
  const startedAt = monotonicMs();
  let latestMs = 0;
  let [last, lastCpu] = [startedAt, cpuMs()];
  const tick = (): void => {
    const [now, cpu] = [monotonicMs(), cpuMs()];
    // Time without CPU use does not count, because the machine ran other processes then.
    latestMs = Math.max(latestMs, Math.min(now - last, cpu - lastCpu) - intervalMs);
    [last, lastCpu] = [now, cpu];
    // Millions of recorded events would make the garbage collection long enough to delay timers.
    events.length = 0;
  };
  const ticking = setInterval(tick, intervalMs);
  let left = passes;
  const caller = async (): Promise<void> => {
    while ((left -= 1) >= 0) await (await acquire(key, { wait: '1m' })).release();
  };
  await Promise.all(Array.from({ length: callers }, caller));
  tick();
  clearInterval(ticking);
  return { latestMs, tookMs: monotonicMs() - startedAt };
}
