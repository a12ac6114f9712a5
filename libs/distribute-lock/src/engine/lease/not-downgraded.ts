import { LockUsageError } from '../../errors.js';
import type { LockCall } from './lock-call.js';

export const notDowngraded = ({ name, key }: LockCall, why: string): LockUsageError =>
  new LockUsageError(`The lease of "${name}" cannot be downgraded: ${why}.`, { key });
