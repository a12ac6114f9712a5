/** In the order of measurement and report. */
export const WORKLOADS = [
  'uncontended',
  'waiters',
  'cold-waiters',
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
