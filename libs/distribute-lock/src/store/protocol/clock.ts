import { redis, type Time } from './server.js';
import { toNumber } from './host.js';

/** The reply of TIME, read at most once in a call. */
let timeReply: Time | undefined;
/** The same in milliseconds. */
let clockMs: number | undefined;

/** A new call begins. In Redis each call starts without a clock. */
export function forgetTime(): void {
  timeReply = undefined;
  clockMs = undefined;
}

export function time(): Time {
  if (timeReply === undefined) timeReply = redis.call('TIME');
  return timeReply;
}

export function nowMs(): number {
  if (clockMs === undefined) {
    const now = time();
    clockMs = toNumber(now[0]) * 1000 + Math.floor(toNumber(now[1]) / 1000);
  }
  return clockMs;
}

/**
 * Whether the deadline of a command has passed, in milliseconds of the server's clock; `0`: it has none. A late acquire
 * changes nothing. A late release still releases, but its process gets nothing.
 */
export function isLate(deadlineMs: string): boolean {
  if (deadlineMs === '0') return false;
  const now = time();
  return toNumber(now[0]) * 1000 + toNumber(now[1]) / 1000 - toNumber(deadlineMs) > 0;
}
