/** Smaller differences count as equal, because the commands are executed one after the other. */
export const TOLERANCE_MS = 1_000;

/** Owner tokens and ends of the leases that have not ended. */
export function living(flat: readonly string[]): Map<string, number> {
  return new Map([...pairs(flat)].filter(([, endsAt]) => endsAt > Date.now()));
}

/** Members and scores of a reply. */
export const pairs = (flat: readonly string[]): Map<string, number> =>
  new Map(flat.flatMap((token, i) => (i % 2 === 0 ? [[token, Number(flat[i + 1])] as const] : [])));

export const show = (leases: ReadonlyMap<string, number>): string => JSON.stringify([...leases]);

/** Negative values are codes instead of times. */
export const sameTime = (a: number, b: number): boolean => (a < 0 || b < 0 ? a === b : Math.abs(a - b) < TOLERANCE_MS);
