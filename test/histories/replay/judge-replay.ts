import type { ReplayReport } from './replay.js';

/** The least share of the calls of one history that must be replayed. A checkpoint compares only the effects of others. */
const LEAST_SHARE = 0.9;
const SHOWN = 5;

/** What is wrong with the replay of a history, as text; undefined if nothing is. */
export function faultOfReplay({ calls, replayed, endCompared, differences }: ReplayReport): string | undefined {
  if (differences.length > 0) {
    return [`${differences.length} differences between Redis and the rules.`, ...differences.slice(0, SHOWN)].join(
      '\n\n',
    );
  }
  if (!endCompared) return 'The keys at the end were not compared with those of the replay.';
  if (calls === 0 || replayed < LEAST_SHARE * calls)
    return `Only ${replayed} of ${calls} calls of scripts were replayed.`;
  return undefined;
}

/** The counts of a replay, and why calls were not replayed. */
export function summaryOfReplay({ calls, replayed, skipped, compared }: ReplayReport): string {
  const reasons = Object.entries(skipped).map(([reason, count]) => `${count} ${reason}`);
  const others = reasons.length === 0 ? '' : ` (not: ${reasons.join(', ')})`;
  return `${replayed} of ${calls} calls replayed${others}, keys equal ${compared} times`;
}
