// The codes with which the scripts reply. A script has several groups of them, so a number may occur in two groups.

// Of locks of each kind.

/** The token holds the lock. */
export const GRANTED = 1;

/** The token waits in the queue. */
export const QUEUED = 2;

/** Another owner holds the lock, and the command does not wait. */
export const BUSY = 3;

/** Released; no process waits. */
export const FREE = 4;

/** Released; another process holds the lock or has an offer. */
export const PASSED = 5;

/** The token does not hold the lock. */
export const LOST = 6;

/** The lease is renewed or downgraded. */
export const RENEWED = 7;

/** Released and granted to another token of the same process. */
export const GRANTED_NEXT = 8;

/** The server rejected the command. */
export const REFUSED = 9;

/** Nothing changed; another script must run the command. */
export const DELEGATED = 11;

/** Replaces the reply to an acquire when too few replicas acknowledge its writes; no script uses it. */
export const NOT_REPLICATED = 12;

/** The token waits in the queue and was there before the command. */
export const STILL_QUEUED = 13;

/** The deadline of the command has passed; nothing changed. */
export const TOO_LATE = 14;

// Of a step on one of several primaries.

/** The token does not have the vote of the primary. */
export const NO_VOTE = 0;

/** The token has or had the vote, and the step is done. */
export const VOTE = 1;

/** As VOTE, but the token already had the vote. */
export const VOTED_BEFORE = 2;

// Third value of a renewal there.

/** The primary knows a larger fencing token than the holder. */
export const LARGER_FENCE = 1;

// Of writing fencing tokens there.

/** The fencing tokens are written. */
export const FENCE_WRITTEN = 1;

/** The primary knows a larger fencing token. */
export const FENCE_TOO_LOW = 2;

// Of the record of a quorum's nodes.

/** The server accepts all nodes of the process. */
export const MEMBERS = 1;

/** The server has no place for some nodes of the process. */
export const NO_PLACE = 2;

/** The list of the process has another number of nodes. */
export const OTHER_COUNT = 3;
