/** An entry of a {@link DueHeap}. */
export interface Due {
  /** The heap moves the entry after a change only by {@link DueHeap.moved}. */
  dueAt: number;
  /** Position in the heap; -1 outside it. Written by the heap. */
  heapIndex: number;
}

/** A binary heap. The first entry is known; adding, moving and removing one takes logarithmic time. */
export class DueHeap<T extends Due> {
  private readonly entries: T[] = [];

  /** @param isBefore - the order of two entries, which should depend on `dueAt` first */
  constructor(private readonly isBefore: (a: T, b: T) => boolean) {}

  get first(): T | undefined {
    return this.entries[0];
  }

  add(entry: T): void {
    this.entries.push(entry);
    this.raise(entry, this.entries.length - 1);
  }

  /** Restores the order after `dueAt` of the entry has changed. */
  moved(entry: T): void {
    this.raise(entry, entry.heapIndex);
    this.lower(entry, entry.heapIndex);
  }

  remove(entry: T): void {
    const { entries } = this;
    const index = entry.heapIndex;
    const last = entries.pop()!;
    entry.heapIndex = -1;
    if (last === entry) return;
    this.put(last, index);
    this.moved(last);
  }

  clear(): void {
    for (const entry of this.entries) entry.heapIndex = -1;
    this.entries.length = 0;
  }

  private raise(entry: T, from: number): void {
    let index = from;
    while (index > 0) {
      const above = (index - 1) >> 1;
      if (!this.isBefore(entry, this.entries[above])) break;
      this.put(this.entries[above], index);
      index = above;
    }
    this.put(entry, index);
  }

  private lower(entry: T, from: number): void {
    const { entries } = this;
    let index = from;
    for (;;) {
      let below = 2 * index + 1;
      if (below >= entries.length) break;
      if (below + 1 < entries.length && this.isBefore(entries[below + 1], entries[below])) below += 1;
      if (!this.isBefore(entries[below], entry)) break;
      this.put(entries[below], index);
      index = below;
    }
    this.put(entry, index);
  }

  private put(entry: T, index: number): void {
    this.entries[index] = entry;
    entry.heapIndex = index;
  }
}
