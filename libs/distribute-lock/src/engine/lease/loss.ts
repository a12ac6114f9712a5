import type { LeaseLossReason } from '../../errors.js';
import type { ResolvedLockOptions } from '../../options/lock-options.js';
import type { Lease } from './lease.js';

/** A timer that fires or a renewal that is sent this late, compared with the ttl, shows that the event loop was blocked. */
const BLOCKED_SHARE = 0.1;
const BLOCKED_MS = 20;

/** Why a grant is lost. */
export interface Loss {
  readonly reason: LeaseLossReason;
  /** For `blocked`: how late the process was. The event loop was blocked for at least that long. */
  readonly blockedMs?: number;
  /** Replaces the sentence of the reason. */
  readonly why?: string;
}

/** A lease whose time has passed without a confirmed renewal. */
export interface Overdue {
  /** How long the lease lasted without another confirmation. */
  readonly ttlMs: number;
  /** How late the timer of the grant fired, or its renewal was sent. */
  readonly lateMs: number;
  readonly renew: boolean;
  /** The lease lasted as long as `maxHold` allows. */
  readonly reachedLimit: boolean;
}

/** Why a lease ended when its time passed. */
export function lossByTime({ ttlMs, lateMs, renew, reachedLimit }: Overdue): Loss {
  if (!renew) return { reason: 'expired' };
  if (reachedLimit) return { reason: 'maxHold' };
  if (lateMs >= Math.max(BLOCKED_MS, ttlMs * BLOCKED_SHARE)) return { reason: 'blocked', blockedMs: lateMs };
  return { reason: 'outage' };
}

/** Whether the lease ended as planned, by its `ttl` or its `maxHold`. */
const isPlanned = (reason: LeaseLossReason): boolean => reason === 'expired' || reason === 'maxHold';

/** Whether the lease ended without a doubt about its key, so that the key may stay held on purpose. */
export const mayBeKeptAfter = (reason: LeaseLossReason): boolean => isPlanned(reason) || reason === 'forgotten';

/** Why a lease ended when its time passed after the engine was closed, which ends all renewals. */
export function lossAfterClose(overdue: Overdue): Loss {
  const loss = lossByTime(overdue);
  return isPlanned(loss.reason) ? loss : { reason: 'shutdown' };
}

/** Whether the process merely cannot prove the lease: the store may still hold the key. */
export const isUnproven = ({ reason }: Loss): boolean =>
  reason === 'outage' || reason === 'blocked' || isPlanned(reason);

/** Describes the loss as the end of a sentence about the lease. */
export function lossSentence(
  { reason, blockedMs = 0, why }: Loss,
  ttlMs: number,
  options: ResolvedLockOptions,
): string {
  const sentences: Readonly<Record<LeaseLossReason, string>> = {
    blocked: `the event loop was blocked, or the process stopped, for at least ${seconds(blockedMs)}, so it was not renewed in time`,
    expired: `its ttl of ${ttlMs} ms has passed, and "renew" is false`,
    maxHold: `"maxHold" (${options.maxHoldMs} ms) has passed`,
    outage: `Redis did not confirm a renewal within its ttl of ${ttlMs} ms`,
    deleted: 'its key no longer exists in Redis, because it was deleted or Redis lost its data',
    taken: 'its key in Redis belongs to another owner',
    forced: 'forceRelease() or steal() took the lock away',
    shutdown: 'the application has shut down, so its renewal stopped',
    released: 'it was released',
    used: 'its ticket was used before',
    forgotten:
      'its handle was garbage-collected before release(). Call release() in a finally block, or use withLock()',
  };
  return why ?? sentences[reason];
}

const seconds = (ms: number): string => (ms < 1_000 ? `${Math.floor(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);

/**
 * Called after the work has succeeded and its lease was released. A release that finds another owner proves the loss; a release
 * without a reply proves nothing.
 * @throws the loss of the lease if `onLost` is `'throw'`
 */
export function throwIfLost(lease: Lease, { onLost }: ResolvedLockOptions): void {
  if (onLost === 'throw') lease.signal.throwIfAborted();
}
