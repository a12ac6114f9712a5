import { Redis, type RedisOptions } from 'ioredis';

import { processClock } from '../../runtime/clock.js';
import { Inbox } from '../redis/inbox.js';
import { ownOptions } from '../redis/own-options.js';
import { another, keyPrefixOf, type RedisClient } from '../redis/redis-client.js';
import { RedisConnection } from '../redis/redis-connection.js';
import { RedisKeys } from '../redis/redis-keys.js';
import { RedisNodeLine } from './node-line.js';
import type { QuorumMember } from './quorum-lock-store.js';

/** A node with a dedicated connection, which opens with the first command. */
export function openMember(options: RedisOptions | string, prefix: string): QuorumMember {
  const client = typeof options === 'string' ? new Redis(options, ownOptions({})) : new Redis(ownOptions(options));
  return memberOn(new RedisConnection(client, processClock), prefix);
}

/** A node with a connection that copies the configuration of an application client. */
export function memberOver(client: RedisClient, prefix: string): QuorumMember {
  return memberOn(new RedisConnection(another(client), processClock, client), prefix);
}

function memberOn(connection: RedisConnection, prefix: string): QuorumMember {
  const keys = new RedisKeys(prefix, keyPrefixOf(connection.client));
  return { line: new RedisNodeLine(connection, keys), inbox: new Inbox(connection, keys) };
}
