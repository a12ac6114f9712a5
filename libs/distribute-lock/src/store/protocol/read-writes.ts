import { commandOf } from './command.js';
import { saveFence } from './fencing-tokens.js';
import { downgrade, enter, renewReadWrite, leave, move, steal } from './read-write.js';
import type { ReadWriteKeys } from './read-leases.js';
import { setCounterKey } from './counter-key.js';
import { addReply, type Replies, type Reply } from './reply.js';
import { ARGV, KEYS } from './server.js';
import { safely } from './host.js';

/**
 * Runs the commands of read/write locks in their order, with the same results as separate calls. A lock has many readers or
 * one writer.
 *
 * A writer is an exclusive holder: the lock key holds its owner token. While readers hold the lock, the lock key holds
 * `readers`. Each reader then has a separate lease in another key; these leases count only while the lock key holds
 * `readers`. Every command is idempotent by owner token. All times are those of the server: TIME decides whether a lease is
 * valid.
 *
 * Keys: `fence`, then `lock`, `queue`, `readers` and `gate` for each command.
 * - `fence`, `lock`, `queue`: as for `runLocks`; the queue has tokens of both kinds
 * - `readers`, sorted set: owner tokens of readers, each with the end of its lease in ms; expires with the last of them
 * - `gate`, string: exists while a live writer waits for readers; expires some time after its last attempt
 *
 * Arguments: the commands of `runLocks`, and these. The token of a reader ends in `:r`; `next` of a release is of the same
 * kind as its token.
 * - `g <ownerToken> <ttlMs> <readToken>`: downgrade: the writer becomes a reader with `readToken`
 * - `m <ownerToken> <ttlMs> <to> <deadlineMs>`: move: the exclusive lease continues with the token `to`
 * - `s <ownerToken> <ttlMs> <block> <deadlineMs>`: take over: acquire; all holders lose the lock; waiters keep their places
 *
 * Replies: those of `runLocks`, with these additions:
 * - `GRANTED, n, w`: for a reader w is 1 if a writer waits
 * - `QUEUED, ms, h` and `STILL_QUEUED, ms, h`: ms is also the time until a reader may pass the gate
 * - `PASSED, 0, 0`: released; other readers keep the lock, or it was offered to others
 * - `RENEWED, w, 0`: renewed or downgraded; for a reader w is 1 if a writer waits
 *
 * @returns the replies in one flat list
 */
export function runReadWrites(): Replies {
  setCounterKey(KEYS[0]);
  const replies: Replies = [];
  for (let i = 0; i < ARGV.length; i += 1) {
    const at = 4 * i + 1;
    const keys = { lock: KEYS[at], queue: KEYS[at + 1], readers: KEYS[at + 2], gate: KEYS[at + 3] };
    const reply = safely(runReadWrite, keys, ARGV[i]);
    addReply(replies, i, reply);
  }
  saveFence();
  return replies;
}

function runReadWrite(keys: ReadWriteKeys, text: string): Reply {
  const command = commandOf(text);
  const { name } = command;
  if (name === 'a' || name === 'w') return enter(keys, command);
  if (name === 'n') return renewReadWrite(keys, command);
  if (name === 'g') return downgrade(keys, command);
  if (name === 's') return steal(keys, command);
  if (name === 'm') return move(keys, command);
  return leave(keys, command);
}
