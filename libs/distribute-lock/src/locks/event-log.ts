import type { LockEvent, LockEvents } from '../events.js';
import { ConnectionLog } from './connection-log.js';
import type { LockLog } from './door.js';
import { oncePerMinute } from './once-per-minute.js';

/** Logs the events that need the attention of an operator. Contention is normal, so it is logged at debug level only. */
export function logEvents(events: LockEvents, logger: LockLog): void {
  ConnectionLog.listen(events, logger);
  const warnOnce = oncePerMinute((text) => logger.warn(text));
  const debugOnce = oncePerMinute((text) => logger.debug(text));
  events.listen(
    ({ type, name, error }: LockEvent) => {
      const text = error?.message ?? type;
      // Messages of this package already name the lock.
      warnOnce(`${type} ${name}`, text.includes(name) ? text : `${name}: ${text}`);
    },
    'lost',
    'release-failed',
    'degraded',
  );
  events.listen(({ name, heldMs = 0, waiting = 0 }) => {
    const waiters = waiting === 1 ? '1 caller waits' : `${waiting} callers wait`;
    logger.warn(
      `The lock "${name}" has been held for ${(heldMs / 1_000).toFixed(1)} s, and ${waiters} for it. ` +
        'Look for work that does not end, or limit it with "maxHold".',
    );
  }, 'held-long');
  events.listen(({ name }) => debugOnce(name, `${name}: another caller holds the lock`), 'contended');
}
