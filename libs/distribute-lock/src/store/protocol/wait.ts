import { READERS } from '../lock-value.js';
import { BUSY, QUEUED, STILL_QUEUED } from './reply-codes.js';
import { append } from './queue.js';
import type { Reply } from './reply.js';
import { processIn } from './host.js';

/**
 * The reply to an attempt that gets nothing; its token is queued if its caller waits.
 * @param owner - the holder; undefined if the call has reached its bounds
 */
export function waitBehind(
  owner: string | undefined,
  queue: string,
  token: string,
  waits: boolean,
  leftMs: number,
): Reply {
  const process = owner === undefined ? undefined : processIn(owner);
  // No message announces the end of a foreign value, or of a semaphore.
  const isForeign = owner !== undefined && process === undefined && owner !== READERS;
  if (!waits) return [BUSY, leftMs, isForeign ? 1 : 0];
  const code = append(queue, token) ? QUEUED : STILL_QUEUED;
  // The message of an offer to this process may have been lost.
  if (owner !== undefined && process !== undefined && process === processIn(token)) return [code, leftMs, owner];
  return [code, leftMs, isForeign ? 1 : 0];
}
