/** Measures for P11. */
const FENCING = 'store/protocol/fencing-tokens.ts';
const COUNTER = 'store/redis/fence-counter.ts';

export const measuresOfFencing = [
  {
    promise: 'P11',
    what: 'fencing tokens start from the clock of the server, not from 0',
    file: FENCING,
    measure: 'const text = now[0] + (now[1].length === 6 ? now[1] : sixDigits(now[1]));',
    without: "const text = '0';",
    test: ['fencing-tokens', 'after FLUSHALL'],
  },
  {
    promise: 'P11',
    what: '... or from the counter, where that is ahead',
    file: FENCING,
    measure: 'if (lastToken <= clock - count) {',
    without: 'if (lastToken <= Infinity) {',
    test: ['fencing-tokens', 'clock of the server was set back'],
  },
  {
    promise: 'P11',
    what: 'an incremented token is used only if it is larger than all before',
    file: COUNTER,
    measure: ' && first > this.last',
    without: '',
    test: ['fencing-tokens', 'after the counter was lost'],
  },
  {
    promise: 'P11',
    what: '... and tokens are incremented only on a connection that has raised the counter to the clock',
    file: COUNTER,
    measure: 'this.counts && epoch === this.epoch && now',
    without: 'this.counts && now',
    also: { file: COUNTER, measure: '(sure && epoch === this.epoch && first', without: '(sure && first' },
    test: ['fencing-tokens', 'another server took over'],
  },
  {
    promise: 'P11',
    what: '... within the last second',
    file: COUNTER,
    measure: 'COUNTED_MS = 1_000',
    without: 'COUNTED_MS = 10_000',
    test: ['fencing-tokens', 'once a second by the clock'],
  },
  {
    promise: 'P11',
    what: '... and never with serverMayChange, because another server may answer on the same connection',
    file: COUNTER,
    measure: 'return this.counts && ',
    without: 'return ',
    test: ['proxies', 'keep fencing tokens rising with serverMayChange'],
  },
  {
    promise: 'P11',
    what: '... and not while instances with one counter per lock mark the shared counter',
    file: 'store/redis/command-batch.ts',
    measure: 'if (bySlot) layout?.mark(now);',
    without: '',
    test: ['layouts', 'take every fencing token from the clock'],
  },
];
