/** The values by their group, in the order of the first value of each group. */
export function groupBy<K, V>(values: Iterable<V>, groupOf: (value: V) => K): Map<K, V[]> {
  const groups = new Map<K, V[]>();
  for (const value of values) {
    const group = groupOf(value);
    const own = groups.get(group);
    if (own === undefined) groups.set(group, [value]);
    else own.push(value);
  }
  return groups;
}
