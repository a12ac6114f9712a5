/** What keeps the promises of commands that are sent in one call, in the form of the other measures; see measures-p1-to-p7.mjs. */
const TOGETHER = 'scripts/lua/lib/together.lua';

export const measuresOfOneCall = [
  {
    promise: 'P1',
    what: 'of several commands in one call, too, each writes only a lock that is free',
    file: TOGETHER,
    measure: 'not takeUnqueued(lock, token, ttlMs)',
    without: "not redis.call('SET', lock, token, 'PX', ttlMs)",
    test: ['one-call', 'beside one whose lock somebody else has'],
  },
  {
    promise: 'P10',
    what: '... and deletes only its own',
    file: TOGETHER,
    measure: "if redis.pcall('GET', lock) ~= string.sub(text, 3) then break end",
    without: '',
    test: ['one-call', 'follow each other when they are about one lock'],
  },
  {
    promise: 'P11',
    what: '... and has fencing tokens of its own',
    file: TOGETHER,
    measure: 'fencingTokens(total)',
    without: 'fencingTokens(1)',
    test: ['one-call', 'have numbers of their own'],
  },
  {
    promise: 'P12',
    what: '... and passes nobody who waits',
    file: TOGETHER,
    measure: "if call('EXISTS', unpack(queues)) == 0 then",
    without: 'if true then',
    test: ['one-call', 'pass nobody who waits'],
  },
];
