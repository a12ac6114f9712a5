import { LockModule } from 'nestjs-distribute-lock';

/** For the key names of redis-semaphore. */
export const mutexModule = (connection: string | undefined) =>
  // #region module
  LockModule.forRoot({ connection, prefix: 'mutex:' });
// #endregion
