export * from './common.js';

export { createLocks, type CreateLocksOptions, OpenedLocks } from './locks/create-locks.js';
export type { LockLog } from './locks/door.js';
