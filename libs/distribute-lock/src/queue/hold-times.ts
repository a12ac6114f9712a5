import { MOST_NAMES, OTHER_NAMES } from '../options/lock-name.js';

/** How many holds of a name are remembered: enough for a median, and soon forgotten when work changes. */
const MOST_HOLDS = 15;

/** How long locks of each name were held lately. Memory is bounded: some names, some holds of each. */
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
   * How much longer a hold of this name lasts that has lasted for `ageMs`: the median of the holds that lasted longer, minus its age.
   * `undefined` where no observation says so.
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
