/**
 * Numbers of the protocol that depend on each other (all in milliseconds): a waiting process asks again after a heartbeat
 * (see `queue/asking.ts`), which must be shorter than the claim window, so that one lost message costs no live waiter
 * its place; a queue outlives several heartbeats. The scripts have them in `scripts/lua/lib/numbers.lua`.
 */
export const CLAIM_WINDOW_MS = 1_750;
export const QUEUE_TTL_MS = 15_000;
/**
 * Fencing tokens that an offer brings, for its first holder and those of the same process behind it. Not more: numbers must be
 * issued more slowly than the server's clock counts microseconds, and no server makes 60 000 offers in a second.
 */
export const OFFERED_NUMBERS = 16;
/** ... and of an offer of permits, unless the numbers that were issued are ahead of the clock by {@link AHEAD_MICROS}. */
export const OFFERED_PERMIT_NUMBERS = 64;
export const AHEAD_MICROS = 500;
/**
 * How long after it was sent a command may take effect, by the server's clock. Redis refuses to execute an acquire that arrives
 * later, so the undo of an unanswered acquire is final once it is sent after this time.
 */
export const EXECUTION_LIMIT_MS = 1_500;
