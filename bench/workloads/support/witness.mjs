/**
 * What went wrong among holds of one lock: two at once, an update that was lost, a fencing token that did not rise.
 *
 * @param holds - `[from, to, fencing token]` on the monotonic clock of the machine
 * @param counted - what the counter says that every hold has raised by one
 */
export function faultsOf(holds, counted, fenced) {
  const inOrder = holds.toSorted(([one], [other]) => one - other);
  const pairs = inOrder.slice(1).map((hold, i) => [inOrder[i], hold]);
  const overlaps = pairs.filter(([before, after]) => after[0] < before[1]).length;
  const falling = fenced ? pairs.filter(([before, after]) => after[2] <= before[2]).length : 0;
  return [
    ...(overlaps > 0 ? [`two held the lock at once, ${overlaps} times`] : []),
    ...(counted === holds.length ? [] : [`${holds.length - counted} of ${holds.length} updates were lost`]),
    ...(falling > 0 ? [`the fencing token did not rise, ${falling} times`] : []),
  ];
}
