/** Measures for commands that share one script call. */
const BATCH = 'store/lua/lib/batch.lua';

export const measuresOfOneCall = [
  {
    promise: 'P1',
    what: 'each command of a batch writes only a lock that is free',
    file: BATCH,
    measure: 'not takeUnqueued(lock, token, ttlMs)',
    without: "not redis.call('SET', lock, token, 'PX', ttlMs)",
    test: ['one-call', 'beside one whose lock another process holds'],
  },
  {
    promise: 'P10',
    what: '... and deletes only the lock that its token owns',
    file: BATCH,
    measure: "if redis.pcall('GET', lock) ~= string.sub(text, 3) then break end",
    without: '',
    test: ['one-call', 'follow each other when they share one key'],
  },
  {
    promise: 'P11',
    what: '... and gets separate fencing tokens',
    file: BATCH,
    measure: 'fencingTokens(total)',
    without: 'fencingTokens(1)',
    test: ['one-call', 'have separate fencing tokens'],
  },
  {
    promise: 'P12',
    what: '... and does not overtake a waiter',
    file: BATCH,
    measure: "if call('EXISTS', unpack(queues)) == 0 then",
    without: 'if true then',
    test: ['one-call', 'do not overtake a waiter'],
  },
];
