/**
 * The faults among the holds of one lock: overlaps, lost updates, fencing tokens that did not rise.
 *
 * @param holds - `[from, to, fencing token]` on the monotonic clock of the machine
 * @param counted - the value of the counter that every hold has incremented by one
 */
export function faultsOf(holds, counted, fenced) {
  const inOrder = holds.toSorted(([one], [other]) => one - other);
  const pairs = inOrder.slice(1).map((hold, i) => [inOrder[i], hold]);
  const overlaps = pairs.filter(([before, after]) => after[0] < before[1]).length;
  const falling = fenced ? pairs.filter(([before, after]) => after[2] <= before[2]).length : 0;
  return [
    ...(overlaps > 0 ? [`two holders had the lock at once, ${overlaps} times`] : []),
    ...(counted === holds.length ? [] : [`${holds.length - counted} of ${holds.length} updates were lost`]),
    ...(falling > 0 ? [`the fencing token did not rise, ${falling} times`] : []),
  ];
}
