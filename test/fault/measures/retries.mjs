/** Measures that bound every retry. */
const unit = (title) => ['store/abandoned-tokens', title];

export const measuresOfRetries = [
  {
    promise: 'P20',
    what: 'an attempt of which no command was sent is not undone',
    file: 'engine/acquiring.ts',
    measure: 'if (mayTakeEffect(error)) {',
    without: 'if (mayTakeEffect(error) || attempt.inFlight === false) {',
    test: ['sockets/retries', 'costs nothing while the connection is refused'],
  },
  {
    promise: 'P20',
    what: 'while the store does not respond, each step of the back-off sends one undo',
    file: 'store/abandoned-tokens.ts',
    measure: 'while (!this.paused && this.inFlight < MOST_IN_FLIGHT) {',
    without: 'while (this.inFlight < MOST_IN_FLIGHT) {',
    test: unit('sends one undo for each step of the back-off'),
  },
  {
    promise: 'P20',
    what: 'at most 64 undos are in flight, one for each token',
    file: 'store/abandoned-tokens.ts',
    measure: 'while (!this.paused && this.inFlight < MOST_IN_FLIGHT) {',
    without: 'while (!this.paused) {',
    test: unit('has one undo of a token, and 64 of all, in flight'),
  },
  {
    promise: 'P20',
    what: 'beyond 10,000 abandoned tokens the oldest are dropped',
    file: 'store/abandoned-tokens.ts',
    measure: 'if (this.tokens.size > MOST_TOKENS) this.dropOldest();',
    without: '',
    test: unit('drops the oldest beyond 10,000 tokens'),
  },
  {
    promise: 'P19',
    what: 'a grant that had an unanswered command is undone once more after its release',
    file: 'engine/releasing.ts',
    measure: 'this.context.abandoned.released(release.grant, release.grant.ttlMs);',
    without: '',
    test: ['engine/retries', 'leaves no holder in Redis after its grant and its release'],
  },
  {
    promise: 'P20',
    what: 'a reader that enters does not bring the retry of a renewal forward',
    file: 'engine/lease/watchdog.ts',
    measure: 'if (grant.failures > 0) return;',
    without: '',
    test: ['engine/lease/watchdog', 'does not bring a retry forward for a new holder, nor for a reader that joins'],
  },
  {
    promise: 'P20',
    what: '... nor does another new holder',
    file: 'engine/lease/watchdog.ts',
    measure: 'if (grant.failures > 0 && grant.isScheduled) return;',
    without: '',
    test: ['engine/lease/watchdog', 'does not bring a retry forward for a new holder, nor for a reader that joins'],
  },
  {
    promise: 'P20',
    what: 'a lease has one renewal in flight',
    file: 'engine/lease/watchdog.ts',
    measure: 'if (grant.renewal === undefined) this.send([grant], ttlMs);',
    without: 'this.send([grant], ttlMs);',
    test: ['engine/retries', 'are not sent for each reader that enters: that does not answer, for readers'],
  },
];
