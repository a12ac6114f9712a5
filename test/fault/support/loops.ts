import { isLockError } from '../../../libs/distribute-lock/src/errors.js';
import { durationMs } from '../../../libs/distribute-lock/src/options/values.js';
import type { Lease } from '../../../libs/distribute-lock/src/lease/lease.js';
import type { AcquireOptions } from '../../../libs/distribute-lock/src/options/lock-options.js';
import type { Locks } from './lock-core.js';
import { monotonicMs } from './monotonic.js';

export interface FightPlan extends Omit<AcquireOptions, 'signal'> {
  /** One key, or several that are taken together. */
  readonly key: string | readonly string[];
  readonly callers: number;
  readonly forMs: number;
  /** How long each holds at most. */
  readonly holdMs: number;
  /** Share of the waits that are aborted at some time. */
  readonly aborts?: number;
}

/** One hold as its process saw it. `left` is when it ended its work, or was told that the lease is lost. */
export interface Hold {
  readonly entered: number;
  readonly left: number;
  readonly fencingToken: number;
}

/** Callers that take the lock again and again; whatever the lock refuses is part of the game. */
export async function fight(locks: Locks, { key, callers, forMs, holdMs, aborts = 0, ...options }: FightPlan) {
  const holds: Hold[] = [];
  const refusals: Record<string, number> = {};
  const until = monotonicMs() + forMs;
  const caller = async (): Promise<void> => {
    while (monotonicMs() < until) {
      const signal =
        Math.random() < aborts
          ? AbortSignal.timeout(Math.ceil(Math.random() * durationMs('wait', options.wait ?? 0)) + 1)
          : undefined;
      try {
        const lease = await take(locks, key, { ...options, signal });
        holds.push(await hold(lease, Math.random() * holdMs));
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
  return typeof key === 'string' ? locks.acquire(key, options) : locks.acquireSeveral(key, options);
}

export async function hold(lease: Lease, ms: number): Promise<Hold> {
  const entered = monotonicMs();
  // Not asked of the lease whether it is held: that it was handed out is the claim.
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

/** Takes and gives back without ever waiting for I/O, while an interval should still tick. */
export async function flood({ acquire }: Locks, { key, callers, passes, intervalMs }: FloodPlan) {
  const startedAt = monotonicMs();
  let latestMs = 0;
  let [last, lastCpu] = [startedAt, cpuMs()];
  const tick = (): void => {
    const [now, cpu] = [monotonicMs(), cpuMs()];
    // Time for which the machine gave this process no turn is not the library's: in it the process used nothing.
    latestMs = Math.max(latestMs, Math.min(now - last, cpu - lastCpu) - intervalMs);
    [last, lastCpu] = [now, cpu];
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
