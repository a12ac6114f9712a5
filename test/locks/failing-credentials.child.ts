/** Prints how the start ends while option `credentials` throws, or never returns. Nothing else keeps the process alive. */
import { createLocks, isLockError } from 'nestjs-distribute-lock/core';

const fails: Record<string, () => Promise<never>> = {
  throws: () => Promise.reject(new Error('no token')),
  hangs: () => new Promise(() => undefined),
};
const ignore = (): void => undefined;
const outcome = await createLocks({
  connection: process.env['REDIS_URL'],
  credentials: fails[process.env['CREDENTIALS']!],
  log: { debug: ignore, log: ignore, warn: ignore },
}).then(
  () => 'opened',
  (error: unknown) => (isLockError(error) ? error.code : String(error)),
);
process.disconnect?.();
console.log(outcome);
