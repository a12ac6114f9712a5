import { nowMs } from './clock.js';
import { digits, leadingDigits, toNumber } from './host.js';
import { ARGV, KEYS, redis } from './server.js';

/**
 * Marks the counter that all locks of a prefix share, while instances with one counter per lock use the same prefix. Every
 * fencing token of the shared counter is then taken from the clock.
 *
 * Keys: the counter: the last fencing token that was issued, or 0; with the mark `~<end in ms>` behind it.
 * Arguments: the time in ms for which the mark counts.
 */
export function runMarkCounter(): number {
  const [counter] = KEYS;
  const [forMs] = ARGV;
  const text = redis.call('GET', counter);
  const number = leadingDigits(text === false ? '0' : text);
  // An invalid counter stays invalid.
  if (number === undefined) return 1;
  const marked = number + '~' + digits(nowMs() + toNumber(forMs));
  if (text === false) redis.call('SET', counter, marked, 'PX', forMs);
  else redis.call('SET', counter, marked, 'KEEPTTL');
  return 1;
}
