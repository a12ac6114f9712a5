import { MOST_WOKEN } from '../protocol.js';
import { counterKey } from './counter-key.js';
import { redis } from './server.js';
import { counted, sharded } from './settings.js';
import { channelPart, emptyTable, lockPrefix, processIn, processPart } from './host.js';

/** `g`: the token has an offer, or should make an attempt; `c`: another process waits behind it. */
export type Message = 'g' | 'c';

/**
 * Sends a message to the inbox of the token's process. The channel begins with the prefix of the locks. An error must not
 * end the script after the hand-over of the lock. In a large Cluster a process may listen to a channel in the slot of the
 * lock: the message then reaches this server and its replicas only.
 * @returns the number of receivers, or -1 if it is unknown, as in a Cluster
 */
export function notify(token: string, message: Message, lock: string): number {
  const process = processIn(token);
  if (process === undefined) return 0;
  const channel = 'nestjs-lock:1:' + lockPrefix(lock, counterKey) + channelPart(process);
  const text = message + ' ' + token + ' ' + lock;
  if (sharded) {
    const reached = redis.pcall('SPUBLISH', channel + ':' + counterKey, text);
    if (typeof reached === 'number' && reached > 0) return -1;
  }
  const receivers = redis.pcall('PUBLISH', channel, text);
  return counted && typeof receivers === 'number' ? receivers : -1;
}

/**
 * Notifies the first waiting process that a message reaches. It makes an attempt, learns when the present offers end, and
 * repeats the attempt then.
 */
export function wakeNext(lock: string, queue: string): void {
  const tried = emptyTable<boolean>();
  for (const token of redis.call('ZRANGE', queue, 0, MOST_WOKEN - 1)) {
    const process = processPart(token);
    if (tried[process] !== true && notify(token, 'g', lock) !== 0) return;
    tried[process] = true;
  }
}
