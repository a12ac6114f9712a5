/** Measures for commands that share one script call. */
const BATCH = 'store/protocol/locks.ts';

export const measuresOfOneCall = [
  {
    promise: 'P1',
    what: 'each command of a batch writes only a lock that is free',
    file: BATCH,
    measure: 'takeUnqueued(lock, token, ttlMs) !== true) return [i, count];',
    without: "redis.call('SET', lock, token, 'PX', ttlMs) === false) return [i, count];",
    test: ['one-call', 'beside one whose lock another process holds'],
  },
  {
    promise: 'P10',
    what: '... and deletes only the lock that its token owns',
    file: BATCH,
    measure: "if (redis.pcall('GET', lock) !== tokenOfRelease(text)) return [i, count];",
    without: '',
    test: ['one-call', 'follow each other when they share one key'],
  },
  {
    promise: 'P11',
    what: '... and gets separate fencing tokens',
    file: BATCH,
    measure: 'const first = fencingTokens(count);',
    without: 'const first = fencingTokens(1);',
    test: ['one-call', 'have separate fencing tokens'],
  },
  {
    promise: 'P12',
    what: '... and does not overtake a waiter',
    file: BATCH,
    measure: "taken = redis.call('EXISTS', ...queues);",
    without: 'taken = 0;',
    test: ['one-call', 'do not overtake a waiter'],
  },
];
