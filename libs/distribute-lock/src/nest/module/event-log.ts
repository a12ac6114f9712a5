import { Logger } from '@nestjs/common';

import { ConnectionLog } from './connection-log.js';
import type { LockEvent, LockEvents } from '../../events.js';

const logger = new Logger('DistributeLock');

/** Logs the events that need the attention of an operator. Contention is normal, so it is logged at debug level only. */
export function logEvents(events: LockEvents): void {
  ConnectionLog.listen(events);
  const warnOnce = oncePerMinute();
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
  events.listen(({ name }) => logger.debug(`${name}: another caller holds the lock`), 'contended');
}

const MINUTE_MS = 60_000;

/** Logs the first warning of each kind at once, and counts the others of the next minute: an outage may cause thousands. */
function oncePerMinute(): (kind: string, text: string) => void {
  const recent = new Map<string, { text: string; more: number }>();
  const watch = (kind: string, text: string): void => {
    const line = { text, more: 0 };
    recent.set(kind, line);
    const end = (): void => {
      recent.delete(kind);
      if (line.more === 0) return;
      logger.warn(`${line.text} (${line.more} times more in the last minute)`);
      watch(kind, line.text);
    };
    setTimeout(end, MINUTE_MS).unref();
  };
  return (kind, text) => {
    const line = recent.get(kind);
    if (line === undefined) {
      logger.warn(text);
      watch(kind, text);
    } else Object.assign(line, { text, more: line.more + 1 });
  };
}
