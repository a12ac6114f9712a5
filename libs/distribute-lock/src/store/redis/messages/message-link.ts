import type { Redis } from 'ioredis';

import { Link, type LinkListener } from '../link.js';
import type { RedisConnection } from '../redis-connection.js';

/** A connection for messages to the same server as `node`. It is not opened again when it is lost. */
export function messageLink(
  node: Redis,
  { clock, timers }: RedisConnection,
  event: 'message' | 'smessage',
  receive: (text: string) => void,
  listener: LinkListener = {},
): Link {
  const client = node.duplicate({ lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  const link = new Link(client, { clock, timers, listener });
  // A lost connection also ends, and commands report their errors.
  client.on('error', () => undefined);
  client.on(event, (_: string, text: string) => {
    link.received();
    receive(text);
  });
  return link;
}
