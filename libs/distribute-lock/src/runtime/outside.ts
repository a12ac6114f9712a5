import { AsyncResource } from 'node:async_hooks';

import { processWide } from './process-wide.js';

class NoCall extends AsyncResource {
  /** Tools such as `jest --detectOpenHandles` ask every resource whether it keeps the process alive. */
  hasRef(): boolean {
    return false;
  }
}

// Created when the package is loaded, so it captures no call.
const noCall = processWide('outside of every call', () => new NoCall('nestjs-distribute-lock'));

/**
 * Runs `work` outside any async context, so that listeners do not inherit a caller's locks or request. A notification about a
 * lease may run within an unrelated call, or in a timer that such a call has set.
 */
export function outside<T>(work: () => T): T {
  return noCall.runInAsyncScope(work);
}
