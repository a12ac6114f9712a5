/** Measures that treat messages as hints (P22), in the form of the other measures; see measures-p8-to-p17.mjs. */
const forged = (title) => ['forged-messages', title];

export const measuresP22 = [
  {
    promise: 'P22',
    what: 'a message counts only with an owner token that this process issued',
    file: 'engine/messages.ts',
    measure: 'if (!this.context.tokens.issued(ownerToken) || !hasNumbers',
    without: 'if (!hasNumbers',
    test: forged('does not delete the key of readers'),
  },
  {
    promise: 'P22',
    what: 'the number in a message is a safe integer',
    file: 'engine/messages.ts',
    measure: 'Number.isSafeInteger(first) && Number.isSafeInteger(first + block)',
    without: 'first >= 0',
    test: forged('does not start a waiter with a number that is no safe integer'),
  },
  {
    promise: 'P22',
    what: 'with confirmOffers an offer is claimed before its holder starts',
    file: 'engine/acquiring.ts',
    measure: ' && !this.context.confirmOffers',
    without: '',
    test: forged('cannot start a waiter'),
  },
  {
    promise: 'P22',
    what: 'with confirmOffers the store confirms that a lease was revoked',
    file: 'engine/messages.ts',
    measure: 'if (this.context.confirmOffers) {',
    without: 'if (this.context.store === undefined) {',
    test: forged('cannot end a lease'),
  },
  {
    promise: 'P22',
    what: 'in a quorum, a fencing token comes only from the replies of nodes',
    file: 'store/quorum/quorum-lock-store.ts',
    measure:
      'message: ({ type, key, ownerToken }) => listener.message({ type, key, ownerToken: ownerOf(ownerToken) }),',
    without: 'message: (message) => listener.message({ ...message, ownerToken: ownerOf(message.ownerToken) }),',
    test: ['quorum-forged-messages', 'does not start a waiter'],
  },
];
