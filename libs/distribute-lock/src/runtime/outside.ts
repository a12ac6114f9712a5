import { AsyncResource } from 'node:async_hooks';

import { processWide } from './process-wide.js';

// Made when the package is loaded: it knows of no call.
const nobody = processWide('outside of every call', () => new AsyncResource('nestjs-distribute-lock'));

/**
 * Runs `work` outside of every call chain and request. What others are told of a lease is told in the course of any call, or by
 * a timer that any call has set: they must not be taken for the holder of that call's locks, nor for a part of its request.
 */
export function outside<T>(work: () => T): T {
  return nobody.runInAsyncScope(work);
}
