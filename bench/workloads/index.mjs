/** In the order in which they are measured and reported. */
export const WORKLOADS = [
  'uncontended',
  'waiters',
  'strict-waiters',
  'loops',
  'readers',
  'permits',
  'crossed-keys',
  'hand-off',
  'parked',
  'held',
  'decorator',
];
