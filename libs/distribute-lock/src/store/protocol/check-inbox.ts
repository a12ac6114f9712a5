import { ARGV, redis } from './server.js';

/**
 * Publishes a message of a process to its own inbox, in the same way and on the same server as the script of a release. The
 * commands use `pcall`, because their refusal is the result.
 *
 * Keys: a lock with waiters, which decides on which server and in which slot the script runs.
 * Arguments: the message; the channel; the channel in the slot of the lock, if a release uses it first.
 * @returns the number of receivers that the server counts, or the text of its refusal
 */
export function runCheckInbox(): number | string {
  const [message, channel, shard] = ARGV;
  const inSlot = shard === undefined ? undefined : redis.pcall('SPUBLISH', shard, message);
  if (typeof inSlot === 'number' && inSlot > 0) return inSlot;
  const plain = redis.pcall('PUBLISH', channel, message);
  if (typeof plain === 'number') return plain;
  return typeof inSlot === 'number' ? inSlot : plain.err;
}
