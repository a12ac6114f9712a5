import { DUMP_KEYS } from './dump-keys.js';

/** The first word of a checkpoint in the log of its server. */
export const CHECKPOINT = 'history-checkpoint';

/** A dump of all keys at one moment, and the number of records that this process of the server has written before. */
const SCRIPT = `${DUMP_KEYS}
local began = redis.call('TIME')
redis.call('ECHO', '${CHECKPOINT} ' .. ARGV[1] .. ' ' .. cjson.encode({
  began = began, keys = dumpKeys(redis.call('KEYS', '*')), ended = redis.call('TIME'),
  role = string.match(redis.call('INFO', 'replication'), 'role:(%a+)'),
  records = tonumber(string.match(redis.call('INFO', 'commandstats'), 'cmdstat_echo:calls=(%d+)') or 0),
}))
return 1`;

/** The bytes of the command that writes a checkpoint. */
export function checkpointCommand(label: string): string {
  const words = ['EVAL', SCRIPT, '0', label];
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}
