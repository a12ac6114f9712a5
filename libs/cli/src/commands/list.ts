import { placeOf } from '../connection-url.js';
import { DEFAULT_PREFIX, urlOf } from '../connection.js';
import { openTarget, UnreachableError } from '../doctor/target.js';
import { errorText } from '../doctor/check.js';
import { printable } from '../messages.js';
import { COMMANDS, EXIT_CODES } from '../table.js';
import type { Execute } from './command.js';
import { leftText } from './inspection-text.js';
import { scanLocks, type ScannedLock } from './scan-locks.js';

const DEFAULT_BUDGET = Number(COMMANDS.list.flags.budget.byDefault);

/** Lists the held keys of the prefix. */
export const list: Execute<'list'> = async ({ values }, messages) => {
  const { match = '*', prefix = DEFAULT_PREFIX, budget = DEFAULT_BUDGET } = values;
  const place = placeOf(urlOf(values));
  try {
    const target = await openTarget(place, prefix);
    try {
      const { locks, complete } = await scanLocks(target, match, budget);
      const lines = locks.length === 0 ? [`No key that matches "${prefix}${match}" is held.`] : table(locks);
      messages.result(lines.join('\n'), { locks, complete, advisory: true });
      messages.say('info', 'The list is advisory: keys may have changed while the servers were read.');
      if (!complete)
        messages.say('warn', `The list is not complete: the search ended after ${budget} keys. Raise --budget.`);
    } finally {
      target.close();
    }
    return EXIT_CODES.success.code;
  } catch (error) {
    messages.say(
      'error',
      error instanceof UnreachableError ? error.message : `The keys cannot be read: ${errorText(error)}.`,
    );
    return EXIT_CODES.unavailable.code;
  }
};

function table(locks: readonly ScannedLock[]): string[] {
  const width = Math.max(...locks.map(({ key }) => printable(key).length));
  return locks.map(({ key, kind, holders, detached, remainingMs, waiting }) => {
    const many = holders > 1 ? ` (${holders} holders)` : '';
    const queue = waiting === 0 ? '' : `, ${waiting} waiting`;
    const tickets = detached === 0 ? '' : holders > 1 ? `, ${detached} detached` : ', detached';
    return `${printable(key).padEnd(width)}  ${kind}${many}${tickets}, ${leftText(remainingMs)}${queue}`;
  });
}
