import { isLockError, type LockService } from 'nestjs-distribute-lock';

export async function nightly(locks: LockService, work: () => Promise<string>): Promise<string> {
  // #region branch
  try {
    return await locks.withLock('nightly', { onLost: 'throw' }, work);
  } catch (error) {
    if (isLockError(error, 'LOCK_CONTENDED')) return `busy, try again in ${error.retryAfterMs} ms`;
    if (isLockError(error, 'LOCK_UNAVAILABLE')) return 'Redis is away';
    throw error; // an error of the work, or another lock error
  }
  // #endregion
}
