import { isLockError, LockConfigurationError, LockContendedError } from '../errors.js';
import type { Lease } from '../engine/lease/lease.js';
import type { LockCall } from '../engine/lease/lock-call.js';
import { reportRefused } from '../engine/reports.js';
import type { LockEvents } from '../events.js';
import { lockName } from '../options/lock-name.js';
import { type AcquireOptions, resolveLockOptions } from '../options/lock-options.js';
import { shown } from '../options/values.js';
import { LONGEST_MS } from '../runtime/timers.js';
import { DAY_MS, type Tick } from './schedule.js';

/** Hosts whose clocks differ by less than this and the interval name the tick while its marker exists. */
const CLOCK_DIFFERENCE_MS = 600_000;

/** The end of the key of a marker. */
const MARKER = /:tick:[\d-]+T[\d:.]+Z$/;

/** What a claim needs of the locks of a connection. @internal */
export interface TickClaims {
  readonly events: LockEvents;
  acquire(call: LockCall): Promise<Lease>;
}

/**
 * Claims a tick for the holder of the job's lock. The marker is a separate key, which no caller releases; it ends by its ttl.
 *
 * @param repeated - this instance has had the tick: it counts as claimed, also when its marker has ended
 * @throws LockContendedError when the tick has been claimed, by this process or another one
 * @throws LockUnavailableError when Redis failed, refused or did not respond; the tick may be claimed then, and no caller runs it
 * @internal
 */
export async function claimTick(
  locks: TickClaims,
  lease: Lease,
  name: string,
  tick: Tick,
  repeated = false,
): Promise<void> {
  const instant = tick.instant.toISOString();
  const ttl = Math.min(LONGEST_MS, tick.intervalMs + CLOCK_DIFFERENCE_MS);
  const options = resolveLockOptions({ ttl, renew: false, release: 'expire' });
  const call = { key: `${lease.key}:tick:${instant}`, name: tickName(name), options, scoped: true };
  if (repeated) {
    const error = claimed(lease.key, name, tick);
    reportRefused(locks.events, call, 0, error);
    throw error;
  }
  try {
    await (await locks.acquire(call)).release();
  } catch (error) {
    throw isLockError(error, 'LOCK_CONTENDED') ? claimed(lease.key, name, tick) : error;
  }
}

/** Whether the key is the marker of a tick, for which no caller waits. @internal */
export function isTickMarker(key: string): boolean {
  return MARKER.test(key);
}

/** The error of a tick that another caller has claimed. */
function claimed(key: string, name: string, { instant, intervalMs }: Tick): LockContendedError {
  return new LockContendedError(`The tick ${instant.toISOString()} of "${name}" belongs to another caller.`, {
    key,
    retryAfterMs: intervalMs,
  });
}

/** Events and metrics count the marker apart from the lock of the job. */
const tickName = (name: string): string => lockName(`${name.slice(0, 95)} tick`);

/**
 * Lets the attempts of one job follow each other. Otherwise a late attempt, which only finds its tick claimed, holds the lock for a
 * moment in which the next attempt of the process would be refused.
 */
export class AttemptsInTurn {
  private last: Promise<unknown> = Promise.resolve();

  run<T>(attempt: () => Promise<T>): Promise<T> {
    const next = this.last.then(attempt, attempt);
    this.last = next.catch(() => undefined);
    return next;
  }
}

/** Options of {@link Locks.onceAt}. @public */
export type OnceAtOptions = Omit<AcquireOptions, 'minHold' | 'release' | 'reentrant'>;

/** The tick of an argument: a date has an interval of one day. */
export function tickOf(instant: Date | Tick): Tick {
  const tick = instant instanceof Date ? { instant, intervalMs: DAY_MS } : instant;
  if (Number.isFinite(tick?.instant?.getTime())) return tick;
  throw new LockConfigurationError(
    `The instant is ${shown(instant)}, but it must be a valid Date, or the result of lastTick().`,
  );
}

/** What makes another caller run the tick instead. */
export const runsElsewhere = (error: unknown): boolean => isLockError(error, 'LOCK_CONTENDED', 'LOCK_WAIT_TIMEOUT');
