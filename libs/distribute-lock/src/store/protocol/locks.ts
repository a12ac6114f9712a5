import { FREE, GRANTED, TOO_LATE } from '../lua/generated/reply-codes.js';
import { isLate, nowMs } from './clock.js';
import { setCounterKey } from './counter-key.js';
import { commandOf, type LockCommand } from './command.js';
import { acquire, acquireHeld, release, renew, takeFree } from './exclusive.js';
import { FENCE_LIMIT, fencingTokens, saveFence } from './fencing-tokens.js';
import { addReply, type Replies, type Reply } from './reply.js';
import { ARGV, KEYS, redis } from './server.js';
import { takeUnqueued } from './take.js';
import { isPlainRelease, safely, tokenOfRelease, toNumber, wordsOf } from './host.js';

/** Replies to all commands; a number if each had the common case. */
export function runLocks(): number | Replies {
  const alone = KEYS.length === 3 ? runAlone(KEYS[1], KEYS[2], ARGV[0]) : undefined;
  return alone ?? runOtherLocks();
}

/** The entry of the script in Redis, where `runOtherLocks.lua` comes before it and does what `runAlone` does. */
function runOtherLocks(): number | Replies {
  setCounterKey(KEYS[0]);
  return KEYS.length === 3 ? runOne(KEYS[1], KEYS[2], ARGV[0]) : runBatch();
}

/**
 * A single command for a lock without waiters. The case is so common that it uses as few calls as possible.
 * @returns undefined in another case
 */
function runAlone(lock: string, queue: string, text: string): number | undefined {
  if (isPlainRelease(text)) {
    if (redis.call('EXISTS', queue) === 1 || redis.call('GET', lock) !== tokenOfRelease(text)) return undefined;
    redis.call('DEL', lock);
    return 0;
  }
  const [, token, ttlMs, blockText, deadlineMs, raised] = wordsOf(text);
  if (raised !== '+' || redis.call('EXISTS', queue) === 1 || isLate(deadlineMs)) return undefined;
  if (takeUnqueued(lock, token, ttlMs) !== true) return undefined;
  // An increment is cheaper than writing the clock. If the server rejects it, the clock is written; the lock is taken.
  const last = redis.pcall('INCRBY', KEYS[0], blockText);
  if (typeof last !== 'number' || last <= 0 || last >= FENCE_LIMIT) return undefined;
  return last - toNumber(blockText) + 1;
}

/** A single command that `runAlone` did not complete. An acquire is as in `acquire`, but a grant is a plain number. */
function runOne(lock: string, queue: string, text: string): number | Reply {
  const command = commandOf(text);
  if (command.name !== 'a' && command.name !== 'w') return withCounter(runCommand(lock, queue, command));
  if (isLate(command.deadlineMs)) return [TOO_LATE, nowMs(), 0];
  const taken = takeFree(lock, queue, command.token, command.ttlMs);
  if (taken === true) return issue(command.block);
  return withCounter(acquireHeld(lock, queue, command, taken));
}

function run(lock: string, queue: string, text: string): Reply {
  return runCommand(lock, queue, commandOf(text));
}

function runCommand(lock: string, queue: string, command: LockCommand): Reply {
  if (command.name === 'a' || command.name === 'w') return acquire(lock, queue, command);
  if (command.name === 'n') return renew(lock, queue, command);
  return release(lock, queue, command);
}

function withCounter(reply: Reply): Reply {
  saveFence();
  return reply;
}

function runBatch(): number | Replies {
  const blocks = runCommonCases();
  if (blocks.length < ARGV.length) return runAll(blocks);
  let total = 0;
  for (const block of blocks) total += block;
  return total === 0 ? 0 : issue(total);
}

/** The first of consecutive fencing tokens, written at once. */
function issue(count: number): number {
  const first = fencingTokens(count);
  saveFence();
  return first;
}

/**
 * Runs several commands of the common case: each acquire finds a free lock, each release finds its own token, and no lock
 * has waiters. One command checks all queues. The loop ends at the first command of another case.
 * @returns how many fencing tokens each command that ran needs, in their order; 0 for a release
 */
function runCommonCases(): number[] {
  const blocks: number[] = [];
  const queues: string[] = [];
  for (let i = 0; i < ARGV.length; i += 1) queues[i] = KEYS[2 * i + 2];
  if (redis.call('EXISTS', ...queues) > 0) return blocks;
  // Commands of one call usually have the same deadline.
  let timely = '';
  for (let i = 0; i < ARGV.length; i += 1) {
    const lock = KEYS[2 * i + 1];
    if (isPlainRelease(ARGV[i])) {
      if (redis.pcall('GET', lock) !== tokenOfRelease(ARGV[i])) return blocks;
      redis.call('DEL', lock);
      blocks[i] = 0;
    } else {
      const [name, token, ttlMs, block, deadlineMs] = wordsOf(ARGV[i]);
      if (name !== 'a' && name !== 'w') return blocks;
      if (deadlineMs !== timely && isLate(deadlineMs)) return blocks;
      if (takeUnqueued(lock, token, ttlMs) !== true) return blocks;
      timely = deadlineMs;
      blocks[i] = toNumber(block);
    }
  }
  return blocks;
}

/** @param blocks - how many fencing tokens each command that has run needs */
function runAll(blocks: readonly number[]): Replies {
  const replies: Replies = [];
  for (let i = 0; i < ARGV.length; i += 1) {
    let reply: Reply = [FREE, 0, 0];
    if (i >= blocks.length) reply = safely(run, KEYS[2 * i + 1], KEYS[2 * i + 2], ARGV[i]);
    else if (blocks[i] > 0) reply = [GRANTED, fencingTokens(blocks[i]), 0];
    addReply(replies, i, reply);
  }
  saveFence();
  return replies;
}
