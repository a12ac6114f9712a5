/** So many are not worth a look. */
const FEW = 1_024;

/** Takes out what ended by itself and nobody asked for since, whenever there is twice as much as was left the last time. */
export class Sweep {
  private above = FEW;

  of<T>(map: Map<string, T>, isOver: (key: string) => boolean): void {
    if (map.size <= this.above) return;
    for (const key of map.keys()) if (isOver(key)) map.delete(key);
    this.above = Math.max(FEW, 2 * map.size);
  }
}
