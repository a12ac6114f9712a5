// Numbers of the protocol; durations are in milliseconds. `npm run lua` writes each number into the scripts in place of
// `PROTOCOL.<name>`.

/**
 * A waiting process repeats its attempt after a heartbeat, which must be shorter than the claim window: a waiter then keeps
 * its place when one message is lost.
 */
export const CLAIM_WINDOW_MS = 1_750;
/**
 * Duration of an offer whose message reached no subscriber. The waiter is dead, or its subscription is on another
 * server, so it may still claim the offer; otherwise the next waiter is served after this time.
 */
export const SHORT_OFFER_MS = 150;
/** A queue outlives several heartbeats. */
export const QUEUE_TTL_MS = 15_000;

// Bounds of the work of one command, in Redis and in memory.

/** Number of readers that receive a message about a waiting writer; the others learn it from their renewals. */
export const MOST_READERS_NOTIFIED = 128;
/** Number of these messages in one call, which may have commands for many locks. Only the scripts use it. */
export const MOST_WARNINGS = 256;
/** Number of tokens that are read from a queue to find processes that do not respond. */
export const MOST_SILENT_READ = 1_000;
/** Number of tokens of such processes that are removed. */
export const MOST_SILENT_REMOVED = 100;
/** Number of waiters that are notified after such an offer, until one message reaches a subscriber. */
export const MOST_WOKEN = 16;
/** Number of offers of permits. A process that claims an offer continues to serve the queue. */
export const MOST_PERMIT_OFFERS = 32;
/** Number of processes with permits that are notified of contention. */
export const MOST_HOLDERS_NOTIFIED = 32;
/** Number of places of a queue that are searched for another process, behind the first one. */
export const MOST_PLACES_SEARCHED = 32;

/** A counter of fencing tokens that serves one lock expires this long after the last grant. Only the scripts use it. */
export const FENCE_TTL_MS = 600_000;
/** Time within which a process that knew a node of a quorum replaces the new id of the node by its former one. */
export const NEW_RECORD_MS = 5_000;
/**
 * Time after sending within which a command may take effect, by the server's clock. Redis rejects an acquire that
 * arrives later. The undo of an unanswered acquire is therefore final if it is sent after this time.
 */
export const EXECUTION_LIMIT_MS = 1_500;
