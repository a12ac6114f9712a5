import { redis } from './server.js';
import { toNumber } from './host.js';

/** The reply of TIME, read at most once in a call. */
let clock: readonly [seconds: string, microseconds: string] | undefined;

/** A new call begins. In Redis each call starts without a clock. */
export function forgetTime(): void {
  clock = undefined;
}

export function time(): readonly [seconds: string, microseconds: string] {
  if (clock === undefined) clock = redis.call('TIME');
  return clock;
}

export function nowMs(): number {
  const now = time();
  return toNumber(now[0]) * 1000 + Math.floor(toNumber(now[1]) / 1000);
}

/**
 * Whether the deadline of a command has passed, in milliseconds of the server's clock; `0`: it has none. A late acquire
 * changes nothing. A late release still releases, but its process gets nothing.
 */
export function isLate(deadlineMs: string): boolean {
  if (deadlineMs === '0') return false;
  const now = time();
  return toNumber(now[0]) * 1000 + toNumber(now[1]) / 1000 > toNumber(deadlineMs);
}
