import type { Hold } from './loops.js';

/** Pairs of holds that overlapped, by the monotonic clock instead of the state of Redis. */
export function overlaps(holds: readonly Hold[]): [Hold, Hold][] {
  const inOrder = [...holds].sort((a, b) => a.entered - b.entered);
  return inOrder.slice(1).flatMap((hold, i) => (hold.entered < inOrder[i].left ? [[inOrder[i], hold]] : []));
}

/** Whether the tokens are unique and rise in the order of the holds. */
export function fencingTokensRise(holds: readonly Hold[]): boolean {
  const tokens = [...holds].sort((a, b) => a.entered - b.entered).map(({ fencingToken }) => fencingToken);
  return tokens.every((token, i) => i === 0 || token > tokens[i - 1]);
}
