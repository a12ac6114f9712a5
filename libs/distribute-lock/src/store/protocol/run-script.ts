import { forgetTime } from './clock.js';
import { forgetCounter } from './fencing-tokens.js';
import { runLocks } from './locks.js';
import { runMarkCounter } from './mark-counter.js';
import { runMembers } from './members.js';
import { runMultiKey } from './multi-key.js';
import { runQuorumStep } from './quorum.js';
import { forgetMessages } from './read-write.js';
import { runReadWrites } from './read-writes.js';
import { runSemaphores } from './semaphores.js';
import type { Replies } from './reply.js';
import { useServer, type Server } from './server.js';
import { ONE_PRIMARY, useSettings, type Settings } from './settings.js';

/** The scripts by the names that they have in Redis. */
export type ScriptName = 'lock' | 'mark-counter' | 'members' | 'multi-key' | 'quorum' | 'readwrite' | 'semaphore';

const SCRIPTS: Readonly<Record<ScriptName, () => number | Replies>> = {
  lock: runLocks,
  'mark-counter': runMarkCounter,
  members: runMembers,
  'multi-key': runMultiKey,
  readwrite: runReadWrites,
  semaphore: runSemaphores,
  quorum: runQuorumStep,
};

/** Runs a script on a server, as EVALSHA does in Redis. Throws the error of a command that is not one of several. */
export function runScript(
  server: Server,
  name: ScriptName,
  keys: readonly string[],
  args: readonly string[],
  settings: Settings = ONE_PRIMARY,
): number | Replies {
  useSettings(settings);
  forgetTime();
  forgetCounter();
  forgetMessages();
  useServer(server, keys, args);
  return SCRIPTS[name]();
}
