export { LOCK_RUNTIME } from '../nest/tokens.js';
export { LockTestingModule } from './lock-testing.module.js';
export { type HeldLock, TestConnection } from './test-connection.js';
export { TestLocks } from './test-locks.js';
