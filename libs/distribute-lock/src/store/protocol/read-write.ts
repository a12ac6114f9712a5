import { READERS } from '../lock-value.js';
import { FREE, GRANTED, GRANTED_NEXT, LOST, PASSED, QUEUED, RENEWED, STILL_QUEUED, TOO_LATE } from './reply-codes.js';
import { CLAIM_WINDOW_MS, MOST_READERS_NOTIFIED, MOST_WARNINGS } from '../protocol.js';
import { isLate, nowMs } from './clock.js';
import type { LockCommand } from './command.js';
import { renew } from './exclusive.js';
import { fencingTokens } from './fencing-tokens.js';
import { beginReading, assignFree } from './assign-free.js';
import { notify } from './notify.js';
import { append } from './queue.js';
import {
  hasReader,
  closeGate,
  firstWriter,
  lend,
  letMoreIn,
  mayJoin,
  reads,
  readersInQueue,
  settleReaders,
  untilOpen,
  writerWaits,
  type ReadWriteKeys,
} from './read-leases.js';
import type { Reply } from './reply.js';
import { redis } from './server.js';
import { claim, assignTo } from './take.js';
import { digits, isReadToken, processPrefix } from './host.js';
import { waitBehind } from './wait.js';

/** What an attempt decides: the caller got the lock, others have it, or the call has reached its bounds. */
type Entered = 'granted' | 'others' | 'more';

/** Assigns a free lock to a waiter or to the caller. */
function enterFree(keys: ReadWriteKeys, token: string, reader: boolean, ttlMs: number): Entered {
  if (redis.call('EXISTS', keys.queue) === 1) {
    const { taker, mine, more } = assignFree(keys, 'none', { isReader: reader, own: token, ttlMs, origin: token });
    if (more) return 'more';
    if (taker !== undefined) return mine === undefined ? 'others' : 'granted';
  }
  if (reader) return beginReading(keys, token, ttlMs, []) ? 'granted' : 'others';
  assignTo(keys.lock, token, ttlMs);
  redis.call('UNLINK', keys.readers, keys.gate);
  return 'granted';
}

/** Whether the reader now holds the lock: it already did, or it may join the other readers. */
function join(keys: ReadWriteKeys, token: string, ttlMs: number): boolean {
  if (reads(keys, token)) {
    redis.call('ZREM', keys.queue, token);
    lend(keys, token, ttlMs);
    settleReaders(keys);
    letMoreIn(keys);
    return true;
  }
  if (redis.call('GET', keys.lock) !== READERS || !mayJoin(keys, token) || !hasReader(keys)) return false;
  lend(keys, token, ttlMs);
  settleReaders(keys);
  redis.call('ZREM', keys.queue, token);
  return true;
}

/** Number of messages to readers that this call may still send. */
let messagesLeft = MOST_WARNINGS;

/** A new call begins. */
export function forgetMessages(): void {
  messagesLeft = MOST_WARNINGS;
}

/** Notifies the readers that a writer waits for. The others learn it from their renewals. */
function notifyReaders({ lock, readers }: ReadWriteKeys): void {
  const most = Math.min(messagesLeft, MOST_READERS_NOTIFIED);
  if (most === 0) return;
  const tokens = redis.call('ZRANGEBYSCORE', readers, '(' + digits(nowMs()), '+inf', 'LIMIT', 0, most);
  messagesLeft -= tokens.length;
  for (const token of tokens) notify(token, 'c', lock);
}

/** Acquires the lock as a reader or a writer, or waits. */
export function enter(keys: ReadWriteKeys, command: LockCommand): Reply {
  const { lock, queue } = keys;
  const { token, ttlMs, block } = command;
  if (isLate(command.deadlineMs)) return [TOO_LATE, nowMs(), 0];
  const waits = command.name === 'w';
  const reader = isReadToken(token);
  let owner = redis.call('GET', lock);
  if (owner === token) return claim(lock, queue, token, ttlMs, block);
  let entered: Entered = reader && join(keys, token, ttlMs) ? 'granted' : 'others';
  if (owner === false && entered === 'others') entered = enterFree(keys, token, reader, ttlMs);
  if (entered === 'more') return waitBehind(undefined, queue, token, waits, 0);
  if (entered === 'granted') {
    const first = fencingTokens(block);
    return [GRANTED, first, reader ? writerWaits(keys) : redis.call('ZCARD', queue)];
  }
  if (owner === false) owner = redis.call('GET', lock);
  const untilMs = waits && reader && owner === READERS ? untilOpen(keys) : redis.call('PTTL', lock);
  const holder = owner === false ? undefined : owner;
  const reply = waitBehind(holder, queue, token, waits, untilMs);
  if (!waits || holder === undefined) return reply;
  if (holder !== READERS) notify(holder, 'c', lock);
  // A later writer needs no message; a repeated attempt replaces messages that were lost.
  else if (!reader && (closeGate(keys) || reply[0] === STILL_QUEUED)) notifyReaders(keys);
  return reply;
}

/**
 * Takes the lock from its holders. The leases of readers and of permits end, because they count only while the lock key
 * has the value of their kind.
 */
export function steal({ lock, queue, readers, gate }: ReadWriteKeys, command: LockCommand): Reply {
  if (isLate(command.deadlineMs)) return [TOO_LATE, nowMs(), 0];
  assignTo(lock, command.token, command.ttlMs);
  redis.call('UNLINK', readers, gate);
  return [GRANTED, fencingTokens(command.block), redis.call('ZCARD', queue)];
}

/** Opens the gate and admits waiting readers when the last waiting writer leaves. */
function openGate(keys: ReadWriteKeys): void {
  if (firstWriter(keys).length > 0) return;
  redis.call('DEL', keys.gate);
  if (hasReader(keys)) letMoreIn(keys);
}

/** Releases one of several readers; `next` joins the others unless a writer waits. */
function leaveOthers(keys: ReadWriteKeys, next: string | undefined, ttlMs: number, block: number): Reply {
  settleReaders(keys);
  if (next === undefined) return [PASSED, 0, 0];
  if (join(keys, next, ttlMs)) return [GRANTED_NEXT, fencingTokens(block), next];
  append(keys.queue, next);
  return [QUEUED, untilOpen(keys), 0];
}

/** Releases the lock, removes the token from the queue, or undoes an attempt. */
export function leave(keys: ReadWriteKeys, { token, next, ttlMs, block, deadlineMs }: LockCommand): Reply {
  const { lock, queue, readers } = keys;
  const granted = next === '' || isLate(deadlineMs) ? '' : next;
  const reader = isReadToken(token);
  // A full server accepts this first write and all later writes.
  const waited = redis.call('ZREM', queue, token) === 1;
  const owner = redis.call('GET', lock);
  if (!reader && owner !== token) {
    if (waited && owner === READERS) openGate(keys);
    return [LOST, owner === false ? 0 : 1, 0];
  }
  const process = granted === '-' ? processPrefix(token) : undefined;
  const own = granted === '' || granted === '-' ? undefined : granted;
  if (reader) {
    if (!reads(keys, token)) return [LOST, 0, 0];
    redis.call('ZREM', readers, token);
    if (hasReader(keys)) return leaveOthers(keys, own, ttlMs, block);
  }
  if (own !== undefined) append(queue, own);
  const { taker, mine } = assignFree(keys, reader ? 'reader' : 'writer', { isReader: reader, own, process, ttlMs });
  if (mine !== undefined) return [GRANTED_NEXT, fencingTokens(block), taker!];
  if (taker === undefined) return [FREE, 0, 0];
  if (own !== undefined) return [QUEUED, Math.min(redis.call('PTTL', lock), CLAIM_WINDOW_MS), 0];
  return [PASSED, 0, 0];
}

/** The removal from the queue comes first, because a full server accepts it, and then all later writes. */
function renewReading(keys: ReadWriteKeys, token: string, ttlMs: number, exact: boolean): Reply {
  redis.call('ZREM', keys.queue, token);
  if (exact) redis.call('ZADD', keys.readers, nowMs() + ttlMs, token);
  else lend(keys, token, ttlMs);
  settleReaders(keys);
  return [RENEWED, writerWaits(keys), 0];
}

/** Extends the lease of a reader or writer; shortens it only if the command says so. */
export function renewReadWrite(keys: ReadWriteKeys, command: LockCommand): Reply {
  const { token, ttlMs, exact } = command;
  if (!isReadToken(token)) return renew(keys.lock, keys.queue, token, ttlMs, exact);
  if (!reads(keys, token)) return [LOST, 0, 0];
  return renewReading(keys, token, ttlMs, exact);
}

/**
 * Converts a write lock into a read lock and admits the waiting readers. The lease may become longer, never shorter,
 * because the writer relies on it.
 */
export function downgrade(keys: ReadWriteKeys, { token, ttlMs, to }: LockCommand): Reply {
  if (reads(keys, to)) return renewReading(keys, to, ttlMs, false);
  redis.call('ZREM', keys.queue, to);
  const owner = redis.call('GET', keys.lock);
  if (owner !== token) return [LOST, owner === false ? 0 : 1, 0];
  beginReading(keys, to, Math.max(ttlMs, redis.call('PTTL', keys.lock)), readersInQueue(keys));
  return [RENEWED, writerWaits(keys), 0];
}

/**
 * Replaces the owner token of an exclusive holder. The lease continues with the new token, for `ttlMs`, with a larger fencing
 * token. Waiters keep their places.
 */
export function move({ lock, queue }: ReadWriteKeys, { token, ttlMs, to, deadlineMs }: LockCommand): Reply {
  if (isLate(deadlineMs)) return [TOO_LATE, nowMs(), 0];
  const owner = redis.call('GET', lock);
  if (owner === to) return claim(lock, queue, to, ttlMs, 1);
  if (owner !== token) return [LOST, owner === false ? 0 : 1, 0];
  assignTo(lock, to, ttlMs);
  return [GRANTED, fencingTokens(1), redis.call('ZCARD', queue)];
}
