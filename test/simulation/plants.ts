import type { MemoryLocks } from '../../libs/distribute-lock/src/store/memory/memory-locks.js';
import { PLANTS } from '../model/plants.mjs';
import { loadRules, type Change } from '../support/load-rules.js';
import type { LocksByRules } from './simulated-locks.js';

/** Planted changes by what they do. Each removes one measure from the rules, with one or more texts. */
export type Plants = Readonly<Record<string, readonly Change[]>>;

/** The locks in memory with a planted change of their rules. */
export async function plantedLocks(changes: readonly Change[]): Promise<LocksByRules> {
  const { MemoryLocks: Locks } = await loadRules<{ MemoryLocks: typeof MemoryLocks }>(
    'libs/distribute-lock/src/store/memory/memory-locks.ts',
    {
      changes,
    },
  );
  return Locks;
}

const change = (file: string, measure: string, without: string): Change => ({
  file: `store/protocol/${file}.ts`,
  measure,
  without,
});

/** A change that the search of `test/model` also finds. */
function ofModel(name: string): Change {
  const plant = PLANTS.find((each) => each.name === name);
  if (plant === undefined) throw new Error(`The model has no plant ${name}.`);
  return plant;
}

/** Milliseconds by which the clock of the process in a token `p<digit>...` is ahead, as an expression of the rules. */
const ahead = (digit: string): string => `100_000 * (${digit} - 47)`;

export const EXCLUSIVE_PLANTS: Plants = {
  'a release without a comparison': [ofModel('release-of-any-owner')],
  'a renewal that creates the lock': [
    change(
      'exclusive',
      'if (owner !== token) return [LOST, owner === false ? 0 : 1, 0];\n  if (exact)',
      'if (owner === false) assignTo(lock, token, ttlMs);\n  else if (owner !== token) return [LOST, 1, 0];\n  if (exact)',
    ),
  ],
  'an own token that is not recognised': [
    change('exclusive', '  if (owner === token) return claim(lock, queue, token, ttlMs, toNumber(block));\n', ''),
  ],
  'several keys of which only some are acquired': [
    change(
      'multi-key',
      "      return [BUSY, Math.max(redis.call('PTTL', KEYS[at]), -1), 0];\n    }\n",
      "      return [BUSY, Math.max(redis.call('PTTL', KEYS[at]), -1), 0];\n    }\n    assignTo(KEYS[at], words[i + TOKENS_FROM], ttlMs);\n",
    ),
  ],
  'several keys that are acquired past a waiter': [change('multi-key', " && redis.call('EXISTS', queue) === 0", '')],
  'a fencing token that is only the last one plus 1': [ofModel('fence-without-clock')],
  'a next fencing token that is not stored': [
    change(
      'fencing-tokens',
      '  if (lastToken !== undefined && lastToken !== saved) swapFence(digits(lastToken));\n',
      '',
    ),
  ],
  'an attempt that shortens the lease': [
    change('take', "  if (redis.call('PTTL', lock) < toNumber(ttlMs)) redis.call('PEXPIRE'", "  redis.call('PEXPIRE'"),
  ],
};

/** The histories of strict callers notice it. */
export const SILENT_PLACES: readonly Change[] = [ofModel('never-silent')];

export const READ_WRITE_PLANTS: Plants = {
  'a reader ignored by a writer': [
    change(
      'read-write',
      "  let owner = redis.call('GET', lock);\n",
      "  let owner = redis.call('GET', lock);\n  if (owner === READERS && !reader) {\n    assignTo(lock, token, 1);\n    owner = token;\n  }\n",
    ),
  ],
  'one ttl for all readers': [ofModel('settle-shortens')],
  "a client's clock for the end of a lease": [
    change('read-leases', "'GT', nowMs() + ms, token", `'GT', nowMs() + ms + ${ahead('token.charCodeAt(1)')}, token`),
  ],
  "one reader's release that ends the phase": [
    change(
      'read-write',
      "redis.call('ZREM', readers, token);\n    if (hasReader",
      "redis.call('DEL', readers);\n    if (hasReader",
    ),
  ],
  'a lease that a late copy shortens': [
    change('read-leases', "'ZADD', readers, 'GT', nowMs()", "'ZADD', readers, nowMs()"),
  ],
  'a downgrade that shortens the lease': [
    change(
      'read-write',
      "Math.max(ttlMs, redis.call('PTTL', keys.lock))",
      "Math.floor(Math.max(ttlMs, redis.call('PTTL', keys.lock)) / 2)",
    ),
  ],
  'no gate': [
    change(
      'read-leases',
      "  if (redis.call('PEXPIRE', gate, CLAIM_WINDOW_MS) === 1) return false;\n  redis.call('SET', gate, upTo, 'PX', CLAIM_WINDOW_MS);\n",
      '',
    ),
  ],
  'a phase that keeps old leases': [change('assign-free', "  redis.call('UNLINK', keys.readers, keys.gate);\n", '')],
  'an end that is never lowered': [
    change('read-leases', "redis.call('PEXPIREAT', lock, last[1]);", "redis.call('PEXPIREAT', lock, last[1], 'GT');"),
  ],
  'one reader instead of all waiting readers': [
    change(
      'read-leases',
      'for (let i = 0; i < waiting.length; i += 2)',
      'for (let i = 0; i < Math.min(waiting.length, 2); i += 2)',
    ),
  ],
  'writers always first': [change('assign-free', "if (after === 'reader') assigned", 'if (isOpen(assigned)) assigned')],
  'readers always first': [change('assign-free', "if (after === 'reader') assigned", 'if (false) assigned')],
  'a renewal without a look at the lock': [
    change('read-leases', "  if (redis.call('GET', lock) !== READERS) return false;\n  const ends", '  const ends'),
  ],
  'a new phase without its gate': [
    change('assign-free', 'if (firstWriter(keys).length > 0) {\n    closeGate', 'if (false) {\n    closeGate'),
  ],
  'a leaving writer that leaves its gate': [
    change('read-write', 'if (firstWriter(keys).length > 0) return;', 'return;'),
  ],
  'a renewal that does not report the gate': [
    change('read-leases', "): number => redis.call('EXISTS', gate);", '): number => 0;'),
  ],
};

/** The permits that fit beside the leases that a condition counts. */
const fitsBeside = (condition: string): Change =>
  change(
    'semaphore-queue',
    'weight > permits - state.used',
    `weight > permits - state.holders.reduce((sum, each) => (state.ends[each] !== undefined && ${condition} ? sum + weightIn(each) : sum), 0)`,
  );

const FIRST = 'const first = headOf(state) || (served ? undefined : self);';

export const SEMAPHORE_PLANTS: Plants = {
  'a permit counted twice': [
    change(
      'semaphore',
      '  else leaveQueue(state, token);\n  if (!inUse)',
      '  else {\n    leaveQueue(state, token);\n    state.used -= 1;\n  }\n  if (!inUse)',
    ),
  ],
  'a counter beside the leases': [
    change(
      'semaphore-queue',
      'weight > permits - state.used',
      "weight > permits - toNumber(redis.call('GET', 'count1:' + state.lock) || '0')",
    ),
    change(
      'semaphore-state',
      '  state.used += weightIn(token);\n  if (state.limit',
      "  state.used += weightIn(token);\n  redis.call('INCRBY', 'count1:' + state.lock, weightIn(token));\n  if (state.limit",
    ),
    change(
      'semaphore-state',
      '  state.used -= weightIn(token);\n',
      "  state.used -= weightIn(token);\n  redis.call('INCRBY', 'count1:' + state.lock, -weightIn(token));\n",
    ),
  ],
  'the own token of a semaphore not recognised': [
    change(
      'semaphore',
      '  if (ends[token] !== undefined) {\n    leaveQueue',
      '  if (ends[token] !== undefined) return [waits ? QUEUED : BUSY, 1, 0];\n  if (false) {\n    leaveQueue',
    ),
  ],
  'a waiter that leaves without serving the next': [
    change(
      'semaphore',
      'if (!holds || wanted === undefined) {\n    serve(state);',
      'if (!holds || wanted === undefined) {\n    if (holds) serve(state);',
    ),
  ],
  'offers that take no permits': [fitsBeside('state.ends[each] - now > CLAIM_WINDOW_MS')],
  'one ttl for all holders': [
    change(
      'semaphore',
      "    redis.call('ZADD', state.held, endsAt, token);\n  }\n  return [RENEWED",
      "    for (const each of redis.call('ZRANGE', state.held, 0, -1)) redis.call('ZADD', state.held, endsAt, each);\n  }\n  return [RENEWED",
    ),
  ],
  'the time of the client instead of the server': [
    change('clock', 'import { redis, type Time }', 'import { ARGV, redis, type Time }'),
    change(
      'clock',
      'Math.floor(toNumber(now[1]) / 1000);\n',
      `Math.floor(toNumber(now[1]) / 1000) + (/P\\d+:\\d+/.test(ARGV[0]) ? ${ahead('ARGV[0].charCodeAt(3)')} : 0);\n`,
    ),
  ],
  'a heavy head that is overtaken': [
    change(
      'semaphore-queue',
      FIRST,
      "const fitting = redis.call('ZRANGE', state.queue, 0, -1).find((each) => weightIn(each) <= permitsIn(each) - state.used);\n    const first = fitting || headOf(state) || (served ? undefined : self);",
    ),
  ],
  'a newcomer that overtakes the queue': [
    change(
      'semaphore-queue',
      FIRST,
      'const overtakes = !served && self !== undefined && weightIn(self) <= permitsIn(self) - state.used;\n    const first = (overtakes ? self : headOf(state)) || (served ? undefined : self);',
    ),
  ],
  'a dead head that keeps its place': [
    change('semaphore-queue', '(first === self || placeEnd(state, first) > now)', 'true'),
  ],
  'holders that know another number of permits not counted': [fitsBeside('permitsIn(each) === state.limit')],
};
