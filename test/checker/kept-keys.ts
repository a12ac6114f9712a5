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
/** The store keeps ends in whole milliseconds. */
const STORED_MS = 1;

function keptUntil({ operation, key, from, to }: ValidHold, history: History): number {
  const { options, hold, kind, process } = operation;
  if (hold?.ended !== 'release') return to;
  const sentAt = hold.sentAt[key];
  // A grant that was handed over in memory may be much older than the lease.
  const lateMs = history.standstillMs(process, { from: from - STANDSTILLS_MS, to: from }, 0);
  const startedAt = Math.max(sentAt, from - history.precision.beginsMs - lateMs);
  const begins = hold.leases[key] === 1 ? sentAt : startedAt;
  const expiresAt = options.release === 'expire' ? begins + ttlOf(options) - STORED_MS : to;
  const until = Math.max(expiresAt, startedAt + Number(options.minHold ?? 0));
  const isCertain = (by: number): boolean =>
    (history.endOf(process) ?? Infinity) >= by && !history.troubled({ from, to: by }, process);
  if (isCertain(until)) return until;
  // The store ends the lease of a caller without a command. Readers share a lease that their process keeps.
  const isKept =
    kind !== 'read' && hold.readsFrom === Infinity && !history.losesData(key, { from: sentAt, to: expiresAt });
  return isKept ? Math.max(to, expiresAt) : to;
}
