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

/** A lease begins this long before its holder records it, and longer by the standstills before that. */
const SEEN_WITHIN_MS = 25;
const STANDSTILLS_MS = 500;

/** The server stores ends in whole milliseconds. */
const SERVER_MS = 1;

/** Only without a fault until then, because a fault may lose the lease. A simulation records each loss. */
function keptUntil({ operation, key, from, to, readsFrom }: ValidHold, history: History): number {
  const { options, hold, process } = operation;
  if (hold?.ended !== 'release') return to;
  const sentAt = hold.sentAt[key];
  // A grant that was handed over in memory may be much older than the lease.
  const lateMs = history.exact ? 0 : history.standstillMs(process, { from: from - STANDSTILLS_MS, to: from }, 0);
  const startedAt = Math.max(sentAt, from - history.slackMs(SEEN_WITHIN_MS) - lateMs);
  const expiresAt = (hold.leases[key] === 1 ? sentAt : startedAt) + ttlOf(options) - SERVER_MS;
  const isLost = history.exact && history.dataLosses.some((loss) => loss.key === key && loss.at > sentAt);
  const isLeft = options.release === 'expire' && !isLost;
  const until = Math.max(isLeft ? expiresAt : to, startedAt + Number(options.minHold ?? 0));
  const ended = history.endOf(process) ?? Infinity;
  if (ended < until) return to;
  if (!history.troubled({ from, to: until }, process)) return until;
  // Only the process of readers keeps their lease, and may stop.
  return history.exact && isLeft && operation.kind !== 'read' && readsFrom === Infinity ? expiresAt : to;
}
