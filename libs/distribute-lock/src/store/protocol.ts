/**
 * Numbers of the protocol that depend on each other (all in milliseconds): a waiting process asks again after a heartbeat
 * (see `queue/asking.ts`), which must be shorter than the claim window, so that one lost message costs no live waiter
 * its place; a queue outlives several heartbeats. The scripts have them in `scripts/lua/lib/numbers.lua`.
 */
export const CLAIM_WINDOW_MS = 1_750;
export const QUEUE_TTL_MS = 15_000;
