import { READERS } from '../lock-value.js';
import { CLAIM_WINDOW_MS } from '../protocol.js';
import { offer, offerToNext } from './offer.js';
import { READERS_FROM } from './queue.js';
import {
  closeGate,
  firstWriter,
  lastReader,
  lend,
  letIn,
  MOST_LET_IN,
  readersInQueue,
  type ReadWriteKeys,
} from './read-leases.js';
import { redis } from './server.js';
import { isSilent, liveProcesses } from './silence.js';
import { assignTo } from './take.js';
import { exactly, processPrefix, toNumber } from './host.js';

/** Who may get the lock at once, for its whole `ttlMs`: a token, or all tokens of a process. */
export interface Caller {
  /** Whether its tokens are those of readers. */
  readonly isReader: boolean;
  readonly own?: string;
  readonly process?: string;
  readonly ttlMs: number;
  /** A token of a process that responds, if processes that do not respond must be found. */
  readonly origin?: string;
}

/** What an assignment of a free lock decides. */
export interface Assigned {
  /** The new holder; none if the lock is free. */
  readonly taker?: string;
  /** The token of the caller that has the lock, if any. */
  readonly mine?: string;
  /** The call has reached its bounds, so others may wait. */
  readonly more: boolean;
}

const NONE: Assigned = { more: false };

/**
 * Assigns the lock to readers: to `own` for its whole ttl, and to the waiting readers. Ends the leases of earlier readers.
 * @returns false if no reader got a lease
 */
export function beginReading(
  keys: ReadWriteKeys,
  own: string | undefined,
  ttlMs: number,
  waiting: readonly string[],
  lives?: Record<string, boolean | undefined>,
): boolean {
  redis.call('SET', keys.lock, READERS, 'PX', CLAIM_WINDOW_MS);
  redis.call('UNLINK', keys.readers, keys.gate);
  if (firstWriter(keys).length > 0) {
    closeGate(keys, waiting.length === 2 * MOST_LET_IN ? lastReader(keys) : undefined);
  }
  if (own !== undefined) {
    redis.call('ZREM', keys.queue, own);
    lend(keys, own, ttlMs);
  }
  return letIn(keys, waiting, own, lives);
}

/**
 * Assigns a free lock to waiters. After a writer all readers are next; after readers the first writer is next. If the lock
 * was found free, the oldest waiter decides the kind. When no waiter responds, the lock is free.
 * @param after - the kind of the last holder
 */
export function assignFree(keys: ReadWriteKeys, after: 'reader' | 'writer' | 'none', caller: Caller): Assigned {
  const [head, score] = redis.call('ZRANGE', keys.queue, 0, 0, 'WITHSCORES');
  const readerWaits = head !== undefined && toNumber(score) < 0;
  let assigned = NONE;
  if (readerWaits && after === 'none') {
    assigned = handToWriter(keys, '(' + exactly(toNumber(score) - READERS_FROM), caller);
  }
  if (after === 'reader') assigned = handToWriter(keys, '+inf', caller);
  if (isOpen(assigned) && readerWaits) assigned = handToReaders(keys, caller);
  if (isOpen(assigned)) assigned = handToWriter(keys, '+inf', caller);
  if (assigned.taker === undefined) redis.call('UNLINK', keys.lock, keys.readers, keys.gate);
  return assigned;
}

const isOpen = ({ taker, more }: Assigned): boolean => taker === undefined && !more;

const isCallers = (token: string, { own, process }: Caller): boolean =>
  token === own || (process !== undefined && processPrefix(token) === process);

/** Assigns the lock to the waiting readers. */
function handToReaders(keys: ReadWriteKeys, caller: Caller): Assigned {
  const waiting = readersInQueue(keys);
  if (waiting.length === 0) return NONE;
  // A reader that makes an attempt need not be queued.
  let mine = caller.isReader ? caller.own : undefined;
  for (let i = 0; i < waiting.length; i += 2) {
    if (caller.isReader && mine === undefined && isCallers(waiting[i], caller)) mine = waiting[i];
  }
  const { origin } = caller;
  const lives = origin !== undefined && isSilent(waiting[1]) ? liveProcesses(waiting, origin) : undefined;
  if (beginReading(keys, mine, caller.ttlMs, waiting, lives)) return { taker: mine ?? READERS, mine, more: false };
  return { more: waiting.length === 2 * MOST_LET_IN };
}

/** Offers the lock to the first writer up to a score. */
function handToWriter(keys: ReadWriteKeys, upTo: string, caller: Caller): Assigned {
  const { lock, queue, readers, gate } = keys;
  const [first, score] = firstWriter(keys, upTo);
  if (first === undefined) return NONE;
  const isOwn = (token: string): boolean => !caller.isReader && isCallers(token, caller);
  let taker = first;
  if (caller.origin !== undefined && isSilent(score)) {
    const [found, more] = offerToNext(lock, queue, upTo, caller.origin, isOwn);
    if (found === false) return { more };
    taker = found;
  } else {
    redis.call('ZREM', queue, first);
    if (!isOwn(first)) offer(lock, queue, first, score);
  }
  redis.call('UNLINK', readers, gate);
  if (!isOwn(taker)) return { taker, more: false };
  assignTo(lock, taker, caller.ttlMs);
  return { taker, mine: taker, more: false };
}
