/** In the order of measurement and report. */
export const WORKLOADS = [
  'uncontended',
  'cold-lock',
  'waiters',
  'cold-waiters',
  'strict-waiters',
  'loops',
  'readers',
  'permits',
  'crossed-keys',
  'hand-off',
  'distant',
  'parked',
  'held',
  'decorator',
];
