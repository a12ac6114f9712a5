import { runDeleteForeign } from '../../libs/distribute-lock/src/store/protocol/delete-foreign.js';
import { runLocks } from '../../libs/distribute-lock/src/store/protocol/locks.js';
import { runMarkCounter } from '../../libs/distribute-lock/src/store/protocol/mark-counter.js';
import { runMarkTicket } from '../../libs/distribute-lock/src/store/protocol/mark-ticket.js';
import { runMembers } from '../../libs/distribute-lock/src/store/protocol/members.js';
import { runMultiKey } from '../../libs/distribute-lock/src/store/protocol/multi-key.js';
import { runQuorumStep } from '../../libs/distribute-lock/src/store/protocol/quorum.js';
import { runReadWrites } from '../../libs/distribute-lock/src/store/protocol/read-writes.js';
import type { Replies } from '../../libs/distribute-lock/src/store/protocol/reply.js';
import { runRule } from '../../libs/distribute-lock/src/store/protocol/run-rule.js';
import { runSemaphores } from '../../libs/distribute-lock/src/store/protocol/semaphores.js';
import type { Server } from '../../libs/distribute-lock/src/store/protocol/server.js';
import type { Settings } from '../../libs/distribute-lock/src/store/protocol/settings.js';

/** The scripts with rules, by the names that they have in Redis. */
const RULES = {
  'delete-foreign': runDeleteForeign,
  lock: runLocks,
  'mark-counter': runMarkCounter,
  'mark-ticket': runMarkTicket,
  members: runMembers,
  'multi-key': runMultiKey,
  quorum: runQuorumStep,
  readwrite: runReadWrites,
  semaphore: runSemaphores,
} as const;

export type ScriptName = keyof typeof RULES;

/** Runs a script on a server, as EVALSHA does in Redis. */
export function runScript(
  server: Server,
  name: ScriptName,
  keys: readonly string[],
  args: readonly string[],
  settings?: Settings,
): number | Replies {
  const rule: () => number | Replies = RULES[name];
  return runRule(rule, server, keys, args, settings);
}

export type RunScript = typeof runScript;
