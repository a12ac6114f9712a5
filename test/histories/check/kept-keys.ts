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

/** Only without a fault until then, because a fault may lose the lease. */
function keptUntil({ operation, key, from, to }: ValidHold, history: History): number {
  const { options, hold, process } = operation;
  if (hold?.ended !== 'release') return to;
  const expires = options.release === 'expire' ? ttlOf(options) : 0;
  const until = hold.sentAt[key] + Math.max(expires, Number(options.minHold ?? 0));
  const ended = history.endOf(process) ?? Infinity;
  return ended < until || history.troubled({ from, to: until }, process) ? to : until;
}
