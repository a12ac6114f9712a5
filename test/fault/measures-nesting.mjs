/** Measures for work that runs for longer than the call that acquired its lock; see measures-p1-to-p7.mjs. */
const lease = (name) => `engine/lease/${name}.ts`;
const nested = (title) => ['contract/memory', title];

export const measuresOfNesting = [
  {
    promise: 'P29',
    what: 'the outer release does not free the key while a nested call runs',
    file: lease('lease-handle'),
    measure: 'if (this.nested !== undefined && this.nested.all > 0) return this.released ?? Promise.resolve();',
    without: '',
    test: ['nested-calls', 'for nested calls after an early failure of the outer call'],
  },
  {
    promise: 'P29',
    what: '... and the last nested call frees it',
    file: lease('lease-handle'),
    measure: 'return this.left ? this.releaseUnlessNested() : Promise.resolve();',
    without: 'return Promise.resolve();',
    test: nested('keeps the key until the end of a nested call that the outer call does not wait for'),
  },
  {
    promise: 'P29',
    what: 'a shutdown does not end a lease under a nested call',
    file: lease('lease-handle'),
    measure: ' || (this.nested !== undefined && this.nested.work > 0)',
    without: '',
    test: ['engine/shutdown', 'does not end a lease while a nested call still works under it'],
  },
  {
    promise: 'P29',
    what: 'a lease is not downgraded while a nested call writes',
    file: lease('lease-handle'),
    measure: 'this.nested !== undefined && this.nested.writers > 0',
    without: 'this.nested === null',
    test: nested('refuses to downgrade while a nested call writes, and a nested writer during the downgrade'),
  },
  {
    promise: 'P29',
    what: '... and no nested call writes while it is downgraded',
    file: lease('lease-handle'),
    measure: ' || this.downgrading !== undefined',
    without: '',
    test: nested('refuses to downgrade while a nested call writes, and a nested writer during the downgrade'),
  },
  {
    promise: 'P29',
    what: 'a released lease leaves the call chain',
    file: lease('held-leases'),
    measure: 'held?.lease.left === true',
    without: 'held === null',
    test: ['engine/lease/held-leases', 'does not grow when each run starts the next one from inside (timers)'],
  },
];
