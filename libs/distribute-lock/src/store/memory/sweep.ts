/** Maps up to this size are not swept. */
const FEW = 1_024;

/** Removes expired entries from a map whenever its size exceeds twice the size after the last sweep. */
export class Sweep {
  private above = FEW;

  of<T>(map: Map<string, T>, isOver: (key: string) => boolean): void {
    if (map.size <= this.above) return;
    for (const key of map.keys()) if (isOver(key)) map.delete(key);
    this.above = Math.max(FEW, 2 * map.size);
  }
}
