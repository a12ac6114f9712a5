import { REFUSED, RENEWED } from './reply-codes.js';
import { commandOf } from './command.js';
import { saveFence } from './fencing-tokens.js';
import { setCounterKey } from './counter-key.js';
import { addReply, type Replies, type Reply } from './reply.js';
import { acquirePermits, movePermits, releasePermits, renewPermits } from './semaphore.js';
import { semaphoreOf, settleSemaphore, settleIfFree, type Semaphore } from './semaphore-state.js';
import { ARGV, KEYS } from './server.js';
import { safely } from './host.js';

/** The semaphore of the last command in this call, whose state is known. */
let present: Semaphore | undefined;

/**
 * Runs the semaphore commands of one tick in their order, with the same results as separate calls.
 *
 * Every command is idempotent by owner token, `<process>:<sequence>P<permits>:<weight>`, so it may be sent again. The caller
 * gets its permits while the permits in use, with its weight, are at most `permits`. Callers that know different numbers
 * share the key. All times are those of the server: TIME is read once per call. It decides when leases, offers and places in
 * the queue end, and fencing tokens increase with it.
 *
 * Keys: `fence`, then `lock`, `held`, `queue` and `places` for each command.
 * - `fence`, string: as for `runLocks`
 * - `lock`, string: `semaphore:<permits>`, as of the latest grant; expires with the last lease. Anything else is a lock of
 *   another kind
 * - `held`, sorted set: owner tokens that hold permits or have an offer, by the end of the lease; expires with the lock
 * - `queue`, sorted set: waiting owner tokens, in the order of their scores; expires some time after the last attempt
 * - `places`, sorted set: the processes of these tokens, by the time until which their places count; expires like the queue
 *
 * Arguments: the commands `a`, `w`, `d`, `r` and `n` of `runLocks`, without `+` and without `-` as the next attempt, and this one:
 * - `m <ownerToken> <ttlMs> <to> <deadlineMs>`: move: the lease continues with the token `to`, which has the same weight
 *
 * Replies, three values for each command:
 * - `GRANTED, n, o`: n is the first of `block` fencing tokens; o = 1: another process waits
 * - `QUEUED, ms, a`: repeat the attempt in ms (-1: unknown). a = 0: the token was queued before. a = 1: this command queued it.
 *   a = 3: also, directly behind a token of another process. a = 2: a lock of another kind has the key, and no message
 *   announces its end
 * - `BUSY, ms, f`: for a command that does not wait; f = 1: a lock of another kind has the key
 * - `FREE, 0, 0`: released
 * - `LOST, 0, 0`: the token holds no permits; it is in no queue
 * - `RENEWED, o, 0`: o = 1: another process waits
 * - `GRANTED_NEXT, n, o`: released and granted to `next`; n is its first fencing token
 * - `REFUSED, e, 0` and `TOO_LATE, c, 0`: as for `runLocks`
 *
 * @returns the replies in one flat list
 */
export function runSemaphores(): Replies {
  setCounterKey(KEYS[0]);
  present = undefined;
  const replies: Replies = [];
  for (let i = 0; i < ARGV.length; i += 1) {
    const reply = safely(runStep, i);
    const isRefused = reply[0] === REFUSED;
    // A rejected command may have changed the leases, so they are settled at once.
    const settled = safely(settlePresent, !isRefused && i < ARGV.length - 1);
    if (isRefused || settled[0] === REFUSED) present = undefined;
    addReply(replies, i, reply);
  }
  saveFence();
  return replies;
}

/** Runs a command; the state of another key is settled first. */
function runStep(i: number): Reply {
  const at = 4 * i + 1;
  if (present === undefined || present.lock !== KEYS[at]) {
    if (present !== undefined) settleSemaphore(present);
    present = semaphoreOf(KEYS[at], KEYS[at + 1], KEYS[at + 2], KEYS[at + 3]);
  }
  return runSemaphore(present, ARGV[i]);
}

/** Any reply but a refusal. */
const SETTLED: Reply = [RENEWED, 0, 0];

/** @param later - whether another command of this call follows */
function settlePresent(later: boolean): Reply {
  if (present !== undefined && later) settleIfFree(present);
  else if (present !== undefined) settleSemaphore(present);
  return SETTLED;
}

function runSemaphore(state: Semaphore, text: string): Reply {
  const command = commandOf(text);
  if (command.name === 'a' || command.name === 'w') return acquirePermits(state, command);
  if (command.name === 'n') return renewPermits(state, command);
  if (command.name === 'm') return movePermits(state, command);
  return releasePermits(state, command);
}
