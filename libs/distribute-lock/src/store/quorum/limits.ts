import { COMMAND_LIMIT_MS } from '../redis/link.js';

/**
 * A node that does not respond must not consume the lease. The limit is a small share of the ttl, but long enough for a
 * busy server.
 */
const LIMIT_SHARE = 0.05;
const LEAST_LIMIT_MS = 50;

/** Limit of one step of a lock with this ttl, in milliseconds. */
export const limitOf = (ttlMs: number): number =>
  Math.min(COMMAND_LIMIT_MS, Math.max(LEAST_LIMIT_MS, Math.ceil(ttlMs * LIMIT_SHARE)));
