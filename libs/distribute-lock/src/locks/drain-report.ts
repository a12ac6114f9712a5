import type { DrainReport } from '../engine/shutdown.js';
import type { LockLog } from './door.js';

/** Locks that a line of the log names. */
const MOST_SHOWN = 10;

/** Logs which locks a drain waits for, and which are still held at its end. */
export function drainReport(log: LockLog, timeoutMs: number): DrainReport {
  return ({ held, over }) => {
    const locks = held.length === 1 ? '1 lock' : `${held.length} locks`;
    const shown = [...held].sort((one, other) => other.heldMs - one.heldMs).slice(0, MOST_SHOWN);
    const names = shown.map(({ name, heldMs }) => `${name} (held for ${inSeconds(heldMs)})`).join(', ');
    const list = held.length > MOST_SHOWN ? `${names} and others` : names;
    if (!over) {
      log.log(`The shutdown waits up to ${inSeconds(timeoutMs)} for ${locks}: ${list}.`);
    } else {
      log.warn(
        `${locks} ${held.length === 1 ? 'is' : 'are'} still held after ${inSeconds(timeoutMs)}: ${list}. ` +
          'Each key stays locked until its ttl ends, unless the work ends before the connections close.',
      );
    }
  };
}

const inSeconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
