/** Measures for permits: rising fencing tokens (P25), and no waiting beside a free permit; see measures-p8-to-p17.mjs. */
const RUN = 'engine/semaphore-run.ts';
const takesAll = (title) => ['engine/semaphore-run', title];

export const measuresOfPermits = [
  {
    promise: 'P12',
    what: 'a process with waiting callers is in the queue unless it holds every permit',
    file: 'engine/semaphore.ts',
    measure: 'if (run.sealed && this.hasEvery(last, now)) return 0;',
    without: 'if (run.sealed && this.held.size > 0) return 0;',
    test: takesAll('gets a permit that another process releases'),
  },
  {
    promise: 'P25',
    what: 'a permit is handed over in memory only while the store can grant none to another process',
    file: RUN,
    measure: 'return standing > 0 && standing * this.last!.call.options.weight >= free;',
    without: 'return standing > 0;',
    test: takesAll('is false when another process may get a permit behind the places'),
  },
  {
    promise: 'P25',
    what: '... as proven by places that the store has served before any other process',
    file: RUN,
    measure: 'if (!this.isFront || !this.sealed',
    without: 'if (!this.sealed',
    test: takesAll('is false before the store has granted one of the places'),
  },
  {
    promise: 'P25',
    what: '... that were requested together',
    file: RUN,
    measure: 'since === this.placedAt && ',
    without: '',
    test: takesAll('does not count places that were requested after the first ones'),
  },
  {
    promise: 'P25',
    what: '... with no place of another process between them',
    file: RUN,
    measure: 'const together = apart < 0 ? attempts : attempts.slice(0, apart);',
    without: 'const together = apart < 0 ? attempts : attempts.slice(0);',
    test: takesAll('does not count places behind a place of another process'),
  },
  {
    promise: 'P25',
    what: '... and only for 500 ms',
    file: RUN,
    measure: ' && now - since < STANDS_MS',
    without: '',
    test: takesAll('is false 500 ms after the places were requested'),
  },
  {
    promise: 'P25',
    what: 'all permits of a process share the newest fencing tokens',
    file: 'engine/permit-numbers.ts',
    measure: 'for (const grant of this.held.values()) grant.numbers = numbers;',
    without: 'for (const grant of this.held.values()) if (grant.numbers.left === 0) grant.numbers = numbers;',
    test: ['engine/permit-numbers', 'gives all grants the newest numbers'],
  },
  {
    promise: 'P25',
    what: '... and an older answer does not replace them',
    file: 'engine/permit-numbers.ts',
    measure: 'if (this.newest?.isNewerThan(numbers) !== true) this.use(numbers);',
    without: 'this.use(numbers);',
    test: ['engine/permit-numbers', 'ignores an answer that is older than the last grant'],
  },
];
