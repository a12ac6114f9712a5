/** Measures for true outcomes and for the options of each holder (P24, P25); see measures-p8-to-p17.mjs. */
const eachReader = (title) => ['engine/each-reader', title];

export const measuresP24P25 = [
  {
    promise: 'P24',
    what: 'an attempt without a valid reply does not know a holder',
    file: 'engine/key-state.ts',
    measure: 'return this.answered && !this.inFlight && !this.offered && this.lastError === undefined;',
    without: 'return true;',
    test: ['known-holder', 'when Redis does not respond while callers wait for an exclusive lock'],
  },
  {
    promise: 'P24',
    what: 'a caller whose wait ends before the answer shares the outcome of its attempt',
    file: 'engine/wake-ups.ts',
    measure: 'if (list.state.isUndecided(list)) return this.giveUp(list, waiter);',
    without: '',
    test: ['engine/settling', 'gets the free lock from an answer that arrives after its wait'],
  },
  {
    promise: 'P25',
    what: 'a lease is shortened when the reader that needed its length has left',
    file: 'engine/lease/watchdog.ts',
    measure: 'return Math.max(1, Math.floor(holder.shared.needMs(now)));',
    without: 'return 60_000;',
    test: ['reader-options', 'a reader with a long ttl leaves'],
  },
  {
    promise: 'P25',
    what: 'a reader ends with its own lease while other readers continue',
    file: 'engine/readers.ts',
    measure: 'reader.endOwn(lossByTime({ ttlMs, lateMs: now - dueAt, renew, reachedLimit: false }));',
    without: '',
    test: ['reader-options', 'a reader with renew: false ends beside a renewed one'],
  },
  {
    promise: 'P25',
    what: 'a shortening without a reply counts as executed',
    file: 'engine/lease/grant.ts',
    measure: 'this.validUntil = Math.min(this.validUntil, validUntil(sentAt, ttlMs));',
    without: '',
    test: eachReader('is proven no longer than an unconfirmed shortening allows'),
  },
  {
    promise: 'P2',
    what: 'at shutdown a lease that is no longer renewed ends in time',
    file: 'engine/lock-engine.ts',
    measure: 'for (const grant of state.grants()) watchdog.guardEnd(grant);',
    without: 'state.grants();',
    test: ['shutdown', 'notifies work that outlasts it'],
  },
];
