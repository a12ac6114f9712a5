import { REFUSED, RENEWED } from '../lua/generated/reply-codes.js';
import { commandOf } from './command.js';
import { saveFence } from './fencing-tokens.js';
import { setCounterKey } from './counter-key.js';
import { addReply, type Replies, type Reply } from './reply.js';
import { acquirePermits, releasePermits, renewPermits } from './semaphore.js';
import { semaphoreOf, settleSemaphore, settleIfFree, type Semaphore } from './semaphore-state.js';
import { ARGV, KEYS } from './server.js';
import { safely } from './host.js';

/** The semaphore of the last command in this call, whose state is known. */
let present: Semaphore | undefined;

/** Runs the semaphore commands of one tick in their order, with the same results as separate calls. */
export function runSemaphores(): Replies {
  setCounterKey(KEYS[0]);
  present = undefined;
  const replies: Replies = [];
  for (let i = 0; i < ARGV.length; i += 1) {
    const reply = safely(runStep, i);
    const isRefused = reply[0] === REFUSED;
    // A rejected command may have changed the leases, so they are settled at once.
    const settled = safely(settlePresent, !isRefused && i < ARGV.length - 1);
    if (isRefused || settled[0] === REFUSED) present = undefined;
    addReply(replies, i, reply);
  }
  saveFence();
  return replies;
}

/** Runs a command; the state of another key is settled first. */
function runStep(i: number): Reply {
  const at = 4 * i + 1;
  if (present === undefined || present.lock !== KEYS[at]) {
    if (present !== undefined) settleSemaphore(present);
    present = semaphoreOf(KEYS[at], KEYS[at + 1], KEYS[at + 2], KEYS[at + 3]);
  }
  return run(present, ARGV[i]);
}

/** Any reply but a refusal. */
const SETTLED: Reply = [RENEWED, 0, 0];

/** @param later - whether another command of this call follows */
function settlePresent(later: boolean): Reply {
  if (present !== undefined && later) settleIfFree(present);
  else if (present !== undefined) settleSemaphore(present);
  return SETTLED;
}

function run(state: Semaphore, text: string): Reply {
  const command = commandOf(text);
  if (command.name === 'a' || command.name === 'w') return acquirePermits(state, command);
  if (command.name === 'n') return renewPermits(state, command);
  return releasePermits(state, command);
}
