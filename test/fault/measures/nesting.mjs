/** Measures for work that runs for longer than the call that acquired its lock. */
const lease = (name) => `engine/lease/${name}.ts`;
const shutdown = ['engine/shutdown', 'does not end a lease while a nested call still works under it'];

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
    test: ['engine/nesting', 'releases the lease that its outer call has left'],
  },
  {
    promise: 'P29',
    what: 'a shutdown does not end a lease under a nested call',
    file: lease('lease-handle'),
    measure: ' || (this.nested !== undefined && this.nested.work > 0)',
    without: '',
    test: shutdown,
  },
  {
    promise: 'P29',
    what: 'a lease is not downgraded while a nested call writes',
    file: lease('lease-handle'),
    measure: 'this.nested !== undefined && this.nested.writers > 0',
    without: 'this.nested === null',
    test: ['engine/nesting', 'prevents the downgrade of its lease until it has ended'],
  },
  {
    promise: 'P29',
    what: '... and no nested call writes while it is downgraded',
    file: lease('lease-handle'),
    measure: ' || this.downgrading !== undefined',
    without: '',
    test: ['engine/nesting', 'is refused during a downgrade'],
  },
  {
    promise: 'P29',
    what: 'a released lease leaves the call chain',
    file: lease('held-leases'),
    measure: 'held?.lease.left === true',
    without: 'held === null',
    test: ['engine/lease/held-leases', 'does not grow when each run starts the next one from inside (timers)'],
  },
  {
    promise: 'P29',
    what: '... also a lease of a grant that is renewed for the first time',
    file: lease('watchdog'),
    measure: '      grant.holder?.renewing();\n',
    without: '',
    test: ['engine/lease/lease-handle', 'keeps the handle of the application until its first renewal only'],
  },
  {
    promise: 'P29',
    what: 'a lease that the application has forgotten ends',
    file: lease('lease-handle'),
    measure: "else if (!this.left) this.endOwn({ reason: 'forgotten' });",
    without: '',
    test: ['forgotten-leases', 'ends when its handle is garbage-collected, and names the call'],
  },
];
