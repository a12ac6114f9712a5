import { isRecord } from './dump-keys.js';
import type { ForeignCommand } from './log-entries.js';
import { RecordedServer } from './recorded-server.js';

const OF_CONNECTIONS =
  'ACL AUTH CLIENT COMMAND ECHO HELLO INFO PING PSUBSCRIBE PUBLISH PUBSUB PUNSUBSCRIBE QUIT REPLCONF SCRIPT SELECT';
const OF_MESSAGES = 'SPUBLISH SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE UNSUBSCRIBE TIME WAIT DISCARD EXEC MULTI';
const OF_KEYS = 'EXISTS GET KEYS PEXPIRETIME PTTL TYPE ZCARD ZRANGE ZRANGEBYSCORE ZSCORE';
/** Commands that change no key. */
const CHANGE_NOTHING = new Set([OF_CONNECTIONS, OF_MESSAGES, OF_KEYS].join(' ').split(' '));
/** Commands whose effect does not depend on the clock, as a replica gets them. */
const CHANGE_KEYS = new Set('DEL UNLINK INCRBY PEXPIREAT SET ZADD ZPOPMIN ZREM ZREMRANGEBYSCORE'.split(' '));
/** Options of SET that depend on the clock. */
const RELATIVE = new Set(['PX', 'EX']);

/** Applies the command of a client. Returns undefined if its effect is unknown. */
export function applyForeign(server: RecordedServer, { words, atMs }: ForeignCommand): RecordedServer | undefined {
  const [name, key, , ...options] = words;
  if (CHANGE_NOTHING.has(name) || (key !== undefined && isRecord(key))) return server;
  if (name === 'FLUSHALL' || name === 'FLUSHDB') return RecordedServer.empty();
  if (!CHANGE_KEYS.has(name)) return undefined;
  if (name === 'SET' && options.some((option) => RELATIVE.has(option.toUpperCase()))) return undefined;
  try {
    server.execute(words, atMs);
  } catch {
    return undefined;
  }
  return server;
}
