/** A time interval in milliseconds of the clock of the history. */
export interface Interval {
  readonly from: number;
  readonly to: number;
}

/** How long both intervals overlap. */
export const overlap = (a: Interval, b: Interval): number =>
  Math.max(0, Math.min(a.to, b.to) - Math.max(a.from, b.from));

export const between = (at: number, { from, to }: Interval): boolean => at >= from && at <= to;

/** The longest part of `whole` that none of the intervals covers. */
export function longestGap(intervals: readonly Interval[], whole: Interval): Interval {
  let longest: Interval = { from: whole.from, to: whole.from };
  let covered = whole.from;
  const last = { from: whole.to, to: whole.to };
  for (const { from, to } of [...intervals.toSorted((a, b) => a.from - b.from), last]) {
    const end = Math.min(from, whole.to);
    if (end - covered > longest.to - longest.from) longest = { from: covered, to: end };
    covered = Math.max(covered, to);
  }
  return longest;
}
