import { commandOf } from './command.js';
import { saveFence } from './fencing-tokens.js';
import { downgrade, enter, renewReadWrite, leave, steal } from './read-write.js';
import type { ReadWriteKeys } from './read-leases.js';
import { setCounterKey } from './counter-key.js';
import { addReply, type Replies, type Reply } from './reply.js';
import { ARGV, KEYS } from './server.js';
import { safely } from './host.js';

/** Runs the commands of read/write locks in their order, with the same results as separate calls. */
export function runReadWrites(): Replies {
  setCounterKey(KEYS[0]);
  const replies: Replies = [];
  for (let i = 0; i < ARGV.length; i += 1) {
    const at = 4 * i + 1;
    const keys = { lock: KEYS[at], queue: KEYS[at + 1], readers: KEYS[at + 2], gate: KEYS[at + 3] };
    const reply = safely(run, keys, ARGV[i]);
    addReply(replies, i, reply);
  }
  saveFence();
  return replies;
}

function run(keys: ReadWriteKeys, text: string): Reply {
  const command = commandOf(text);
  const { name } = command;
  if (name === 'a' || name === 'w') return enter(keys, command);
  if (name === 'n') return renewReadWrite(keys, command);
  if (name === 'g') return downgrade(keys, command);
  if (name === 's') return steal(keys, command);
  return leave(keys, command);
}
