/**
 * Measures that bound the server time of one call (P23).
 */
const lua = (name) => `store/lua/lib/${name}.lua`;
const bounds = 'MOST_READ, MOST_REMOVED = PROTOCOL.MOST_SILENT_READ, PROTOCOL.MOST_SILENT_REMOVED';

export const measuresOfServerTime = [
  {
    promise: 'P23',
    what: 'a call reads a bounded part of the queue, and removes a bounded number of silent tokens',
    file: lua('offer'),
    measure: bounds,
    without: 'MOST_READ, MOST_REMOVED = 1e9, 7000',
    test: ['server-time', 'exclusive lease ended, silent waiters: dead'],
  },
  {
    promise: 'P23',
    what: 'writers that enter together notify the readers once',
    file: lua('enter'),
    measure: 'if closeGate() or code == REPLY.STILL_QUEUED then notifyReaders() end',
    without: 'closeGate() notifyReaders()',
    also: { file: lua('enter'), measure: 'messagesLeft = messagesLeft - #tokens', without: '' },
    test: ['server-time', '64 writers enter behind many readers'],
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
