import type { Hold } from './loops.js';

/** Pairs that were inside at the same time, by the system's monotonic clock and not by what Redis says. */
export function overlaps(holds: readonly Hold[]): [Hold, Hold][] {
  const inOrder = [...holds].sort((a, b) => a.entered - b.entered);
  return inOrder.slice(1).flatMap((hold, i) => (hold.entered < inOrder[i].left ? [[inOrder[i], hold]] : []));
}

/** Every number once, in the order of the holds. */
export function fencingTokensRise(holds: readonly Hold[]): boolean {
  const tokens = [...holds].sort((a, b) => a.entered - b.entered).map(({ fencingToken }) => fencingToken);
  return tokens.every((token, i) => i === 0 || token > tokens[i - 1]);
}
