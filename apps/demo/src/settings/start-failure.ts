import { isLockError } from 'nestjs-distribute-lock';

import { SettingError } from './setting-error.js';

/** The reason in one line why an instance could not start. Only a fault of the demo itself is shown with its stack. */
export function startFailure(error: unknown, env: NodeJS.ProcessEnv): string {
  if (error instanceof SettingError) return error.message;
  if (isLockError(error)) return `${error.message} (REDIS_URL says where Redis is.)`;
  const problem = listenProblem(error);
  const where = `port ${env.PORT || 3000} of ${env.HOST || '127.0.0.1'}`;
  if (problem !== undefined) return `Cannot listen on ${where}: ${problem}. Set PORT or HOST to something else.`;
  return `The demo could not start: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

function listenProblem(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  switch (error.code) {
    case 'EADDRINUSE':
      return 'it is already in use';
    case 'EACCES':
      return 'this user lacks the permission';
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return 'this machine has no such address';
    default:
      return undefined;
  }
}
