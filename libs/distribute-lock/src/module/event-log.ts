import { Logger } from '@nestjs/common';

import type { LockEvent, LockEvents } from '../events/lock-events.js';

const logger = new Logger('DistributeLock');

/** Writes down what an operator should know. Contention is normal, so it is only for debugging. */
export function logEvents(events: LockEvents): void {
  events.listen(
    ({ type, label, error }: LockEvent) => {
      const text = error?.message ?? type;
      // Messages of our own errors name the lock already.
      logger.warn(text.includes(label) ? text : `${label}: ${text}`);
    },
    'lost',
    'release-failed',
    'degraded',
  );
  events.listen(({ label }) => logger.debug(`${label}: somebody else holds the lock`), 'contended');
}
