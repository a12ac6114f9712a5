import { ttlOf, type History, type Violation } from './history.js';
import { conflicts } from './exclusion.js';
import { validHolds, type ValidHold } from './valid-holds.js';

/** A key stays taken for `minHold`, and with `release: 'expire'` for its ttl, also when the work has ended earlier. */
export function checkKeptKeys(history: History): Violation[] {
  return [...validHolds(history).values()].flatMap((holds) => {
    const kept = holds.map((hold) => ({ ...hold, to: Math.max(hold.to, keptUntil(hold, history)) }));
    if (kept.every(({ to }, i) => to === holds[i].to)) return [];
    // The rule of exclusion reports holds that overlap without that.
    return conflicts(holds, 'exclusion').length > 0 ? [] : conflicts(kept, 'kept keys');
  });
}

/** A lease may begin earlier than its record by the standstills within this time. */
const STANDSTILLS_MS = 500;

/** Only without a fault until then, because a fault may lose the lease. */
function keptUntil({ operation, key, from, to }: ValidHold, history: History): number {
  const { options, hold, process } = operation;
  if (hold?.ended !== 'release') return to;
  const sentAt = hold.sentAt[key];
  const expiresAt = options.release === 'expire' ? sentAt + ttlOf(options) : to;
  // A grant that was handed over in memory may be much older than the lease.
  const lateMs = history.standstillMs(process, { from: from - STANDSTILLS_MS, to: from }, 0);
  const startedAt = Math.max(sentAt, from - history.precision.beginsMs - lateMs);
  const until = Math.max(expiresAt, startedAt + Number(options.minHold ?? 0));
  const ended = history.endOf(process) ?? Infinity;
  return ended < until || history.troubled({ from, to: until }, process) ? to : until;
}
