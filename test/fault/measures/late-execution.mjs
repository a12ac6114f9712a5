/** Measures that make a late execution harmless. */
const test = ['sockets/late-execution', 'granted on the next connection, and released: exclusive'];

export const measuresOfLateExecution = [
  {
    promise: 'P19',
    what: 'an acquire that is executed past its deadline does nothing',
    file: 'store/protocol/clock.ts',
    measure: "if (deadlineMs === '0') return false;",
    without: "if (deadlineMs !== '') return false;",
    also: {
      file: 'store/protocol/runOtherLocks.lua',
      measure: 'time[1] * 1000 + time[2] / 1000 <= tonumber(deadlineMs)',
      without: 'time',
    },
    test,
  },
  {
    promise: 'P19',
    what: '... the deadline is the end of its time limit, by the clock of the server',
    file: 'store/redis/server-clock.ts',
    measure: 'latest + limitMs + MARGIN_MS',
    without: 'latest + limitMs + 60_000',
    test,
  },
  {
    promise: 'P19',
    what: 'a token whose acquire was sent on two connections is undone once more',
    file: 'engine/acquiring.ts',
    measure: 'if (answer.resent === true) this.resent(attempt);',
    without: '',
    test: ['sockets/late-execution', 'before the deadline, but after the release: exclusive'],
  },
];
