/** Measures that treat messages as hints (P22). */
const forged = (title) => ['forged-messages', title];

export const measuresOfHints = [
  {
    promise: 'P22',
    what: 'a message counts only with an owner token that this process issued',
    file: 'engine/messages.ts',
    measure: 'if (!this.context.tokens.issued(ownerToken)) return this.unreadable();',
    without: '',
    test: forged('does not make a process delete the lock of another process'),
  },
  {
    promise: 'P22',
    what: 'the store confirms that a lease was revoked',
    file: 'engine/messages.ts',
    measure: 'if (holds) return this.unreadable();',
    without: '',
    test: forged('cannot end a lease'),
  },
  {
    promise: 'P22',
    what: 'a process answers only questions with an owner token that it issued',
    file: 'engine/messages.ts',
    measure: 'if (!tokens.issued(ownerToken)) {',
    without: 'if (!ownerToken) {',
    test: ['operators', 'whose owner token an asking client has made up'],
  },
  {
    promise: 'P10',
    what: 'a process that names a hold to an operator hands its grant to no later caller in memory',
    file: 'engine/local-hand-over.ts',
    measure: 'grant.passes === LAST || ',
    without: '',
    test: ['engine/local-hand-over', 'does not end a later hold of the same grant'],
  },
];
