import { COMMAND_LIMIT_MS } from '../redis/link.js';

/** A node that does not answer must not cost the lease: a small part of it, but time enough for a busy server. */
const LIMIT_SHARE = 0.05;
const LEAST_LIMIT_MS = 50;

/** How long a step of a lock with this ttl is waited for. */
export const limitOf = (ttlMs: number): number =>
  Math.min(COMMAND_LIMIT_MS, Math.max(LEAST_LIMIT_MS, Math.ceil(ttlMs * LIMIT_SHARE)));
