import { DueHeap, type Due } from './due-heap.js';

interface Entry extends Due {
  readonly name: number;
}

describe('DueHeap', () => {
  const isBefore = (a: Entry, b: Entry): boolean => a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.name < b.name);
  const make = (times: readonly number[]) => {
    const heap = new DueHeap<Entry>(isBefore);
    const entries = times.map((dueAt, name) => ({ dueAt, name, heapIndex: -1 }));
    for (const entry of entries) heap.add(entry);
    return { heap, entries };
  };
  const drain = (heap: DueHeap<Entry>): number[] => {
    const names: number[] = [];
    for (let first = heap.first; first !== undefined; first = heap.first) {
      names.push(first.name);
      heap.remove(first);
    }
    return names;
  };
  const sorted = (entries: readonly Entry[]): number[] =>
    [...entries].sort((a, b) => a.dueAt - b.dueAt || a.name - b.name).map(({ name }) => name);
  /** A fixed sequence of numbers below `limit`, the same in every run. */
  const numbers = (count: number, limit: number): number[] =>
    Array.from({ length: count }, (_, i) => (i * 7_919 + ((i * i) % 101) * 31) % limit);

  it('has no first entry when it is empty', () => {
    expect(make([]).heap.first).toBeUndefined();
  });

  it('returns its entries in order', () => {
    const { heap, entries } = make(numbers(500, 97));
    expect(drain(heap)).toEqual(sorted(entries));
  });

  it('keeps the order when entries are removed and moved', () => {
    const { heap, entries } = make(numbers(500, 1_009));
    const kept = entries.filter((entry, i) => {
      if (i % 3 !== 0) return true;
      heap.remove(entry);
      return false;
    });
    numbers(kept.length, 1_013).forEach((dueAt, i) => {
      if (i % 2 === 0) return;
      kept[i].dueAt = dueAt;
      heap.moved(kept[i]);
    });
    expect(entries[0].heapIndex).toBe(-1);
    expect(drain(heap)).toEqual(sorted(kept));
  });
});
