import type { ResolvedLockOptions } from './lock-options.js';

/** The values that hold where neither module, decorator nor call says otherwise. */
export const LOCK_DEFAULTS: ResolvedLockOptions = Object.freeze({
  ttlMs: 30_000,
  waitMs: 0,
  renew: true,
  maxHoldMs: Infinity,
  minHoldMs: 0,
  fair: 'process',
  reentrant: false,
  kind: 'exclusive',
  permits: 0,
  weight: 1,
  release: 'end',
  onLost: 'signal',
});

/** A shorter lease would be lost to an ordinary hiccup of the event loop. */
export const MIN_TTL_MS = 50;

/** A semaphore's permits are looked through one by one. */
export const MOST_PERMITS = 1_024;

export const DEFAULT_PREFIX = 'lock:';
export const DEFAULT_DRAIN_TIMEOUT_MS = 2_000;
export const DEFAULT_MAX_WAITERS_PER_KEY = 10_000;
export const DEFAULT_MAX_WAITERS = 100_000;
export const DEFAULT_MAX_KEPT = 10_000;
export const DEFAULT_WARN_AFTER_MS = 60_000;
export const DEFAULT_CONTENDED_STATUS = 409;
