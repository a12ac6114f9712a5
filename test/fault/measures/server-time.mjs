/**
 * Measures that bound the server time of one call (P23).
 */
const rule = (name) => `store/protocol/${name}.ts`;

export const measuresOfServerTime = [
  {
    promise: 'P23',
    what: 'a call reads a bounded part of the queue, and removes a bounded number of silent tokens',
    file: 'store/protocol.ts',
    measure: 'export const MOST_SILENT_READ = 1_000;',
    without: 'export const MOST_SILENT_READ = 1_000_000_000;',
    also: {
      file: 'store/protocol.ts',
      measure: 'export const MOST_SILENT_REMOVED = 100;',
      without: 'export const MOST_SILENT_REMOVED = 7_000;',
    },
    test: ['server-time', 'exclusive lease ended, silent waiters: dead'],
  },
  {
    promise: 'P23',
    what: 'writers that enter together notify the readers once',
    file: rule('read-write'),
    measure: 'else if (!reader && (closeGate(keys) || reply[0] === STILL_QUEUED)) notifyReaders(keys);',
    without: 'else if (!reader && (closeGate(keys) || true)) notifyReaders(keys);',
    also: { file: rule('read-write'), measure: 'messagesLeft -= tokens.length;', without: '' },
    test: ['server-time', '64 writers enter behind many readers'],
  },
  {
    promise: 'P23',
    what: 'each reader that enters offers the lock to the next readers',
    file: rule('read-write'),
    measure: '    settleReaders(keys);\n    letMoreIn(keys);',
    without: '    settleReaders(keys);',
    test: ['server-time', 'lets readers in by turns'],
  },
  {
    promise: 'P11',
    what: 'a counter that holds no safe whole number is refused',
    file: rule('fencing-tokens'),
    measure: ' || number < 0 || number >= FENCE_LIMIT || number !== Math.floor(number)) return undefined;',
    without: ') return 0;',
    test: ['junk', 'refuses write locks while it is inf'],
  },
];
