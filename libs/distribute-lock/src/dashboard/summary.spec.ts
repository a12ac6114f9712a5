import { type Hint, read, type Summary, write } from './summary.js';

const SUMMARY: Summary = {
  instance: 'a',
  label: 'host 1',
  number: 3,
  at: 1_000,
  locks: [
    { ref: 'default k', name: 'A.b', kind: 'read', holders: 2, since: 10, until: 20, waiting: 1, waitingSince: 15 },
  ],
  gone: ['default gone'],
  bars: [
    { number: 7, ref: 'default k', name: 'A.b', kind: 'read', start: 1, end: 0, outcome: 'open', count: 1 },
    { number: 8, ref: 'default k', name: 'A.b', kind: 'read', start: 1, end: 2, outcome: 'lost', count: 1 },
    { number: 9, ref: 'default k', name: 'A.b', kind: 'exclusive', start: 1, end: 2, outcome: 'detached', count: 1 },
  ],
  waiting: 1,
  waitingSince: 15,
  lost: 4,
};

describe('hints between instances', () => {
  it.each<Hint>([
    { type: 'summary', summary: SUMMARY },
    { type: 'ask', viewer: 'v', refs: ['default k'], again: true },
    { type: 'bye', viewer: 'v', stops: true },
  ])('are read as they were written: $type', (hint) => expect(read(write(hint))).toEqual(hint));

  const changed = (change: object): string =>
    JSON.stringify({ ...(JSON.parse(write({ type: 'summary', summary: SUMMARY })) as object), ...change });

  it.each([
    ['no JSON', '{'],
    ['no object', '7'],
    ['null', 'null'],
    ['another version', changed({ v: 2 })],
    ['no instance', changed({ instance: {} })],
    ['a negative number', changed({ number: -1 })],
    ['a fraction', changed({ at: 1.5 })],
    ['locks that are no list', changed({ locks: {} })],
    ['a lock with too few words', changed({ locks: [['default k']] })],
    ['a lock with a text for a count', changed({ locks: [['r', 'n', 'k', '1', 0, 0, 0, 0]] })],
    ['a bar with an unknown outcome', changed({ bars: [[1, 'r', 'n', 'k', 1, 2, 9, 1]] })],
    ['a long text', changed({ label: 'x'.repeat(2_000) })],
    ['too many locks', changed({ gone: Array.from({ length: 5_000 }, () => 'r') })],
    ['a long message', changed({ more: 'x'.repeat(2_000_000) })],
  ])('are ignored when forged: %s', (_what, text) => expect(read(text)).toBeUndefined());
});
