/**
 * Measures that bound the server time of one call (P23), in the form of the other measures; see measures-p8-to-p17.mjs.
 */
const lua = (name) => `store/lua/lib/${name}.lua`;
const bounds = 'MOST_READ, MOST_REMOVED, MOST_OFFERS = PROTOCOL.MOST_SILENT_READ, PROTOCOL.MOST_SILENT_REMOVED, 64';

export const measuresP23 = [
  {
    promise: 'P23',
    what: 'a call reads a bounded part of the queue, and makes a bounded number of offers to dead processes',
    file: lua('offer'),
    measure: bounds,
    without: 'MOST_READ, MOST_REMOVED, MOST_OFFERS = 1e9, 7000, 1e9',
    test: ['server-time', 'write released, write waiters of many processes: dead'],
  },
  {
    promise: 'P23',
    what: 'each reader that enters offers the lock to the next readers',
    file: lua('enter'),
    measure: 'letMoreIn()',
    without: '',
    test: ['server-time', 'lets readers in by turns'],
  },
  {
    promise: 'P11',
    what: 'a counter that holds no safe whole number is refused',
    file: lua('fence-number'),
    measure: 'return number and number >= 0 and number < 9007199250000000 and number % 1 == 0 and number or nil',
    without: 'return number or 0',
    test: ['junk', 'refuses write locks while it is inf'],
  },
];
