import type { Replies } from './reply.js';
import { ARGV, KEYS, redis } from './server.js';

/**
 * Marks the record of a ticket, whose first mark says what happened to the ticket. Each call marks the record before it moves or
 * releases the lease, so a process whose move found another owner learns from a second mark that the ticket was used.
 *
 * Keys: the record, a string: the text of the lease, and behind it the marks. It expires some time after the lease.
 * Arguments: the mark, a letter.
 * @returns the record before the call, and the milliseconds until it ends; an empty list if there is no record
 */
export function runMarkTicket(): Replies {
  const [record] = KEYS;
  const [letter] = ARGV;
  const before = redis.call('GET', record);
  if (before === false) return [];
  redis.call('SET', record, before + letter, 'KEEPTTL');
  return [before, redis.call('PTTL', record)];
}
