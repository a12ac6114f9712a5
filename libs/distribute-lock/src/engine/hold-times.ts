import { MOST_NAMES, OTHER_NAMES } from '../options/lock-name.js';

/** Remembered holds per name: enough for a median, and few enough to follow changes of the work. */
const MOST_HOLDS = 15;

/** Recent hold times of each name. Memory is bounded by the number of names and of holds per name. */
export class HoldTimes {
  private readonly byName = new Map<string, number[]>();
  private recorded = 0;

  record(name: string, heldMs: number): void {
    const holds = this.byName.get(name);
    if (holds === undefined) this.begin(name, heldMs);
    else if (holds.length < MOST_HOLDS) holds.push(heldMs);
    else {
      this.recorded = (this.recorded + 1) % MOST_HOLDS;
      holds[this.recorded] = heldMs;
    }
  }

  /**
   * The expected rest of a hold that has lasted for `ageMs`: the median of the longer holds of this name, minus `ageMs`.
   * `undefined` without an observation.
   */
  remainingMs(name: string, ageMs = 0): number | undefined {
    const longer = this.byName.get(name)?.filter((heldMs) => heldMs > ageMs || ageMs === 0) ?? [];
    if (longer.length === 0) return undefined;
    return longer.sort((one, other) => one - other)[longer.length >> 1] - ageMs;
  }

  private begin(name: string, heldMs: number): void {
    if (this.byName.size < MOST_NAMES || name === OTHER_NAMES) this.byName.set(name, [heldMs]);
    else this.record(OTHER_NAMES, heldMs);
  }
}
