/** The values by their group, groups in the order of their first value. */
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
