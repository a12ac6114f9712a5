import type { SimulatedProcess } from './simulated-process.js';

/** An event at a moment of simulated time. */
export interface Happening {
  at: number;
  /** Of two events at the same moment, the one that was planned first comes first. */
  order: number;
  /**
   * The process of the event. The event is discarded when that process has crashed, and delayed while it is stopped.
   */
  readonly process: SimulatedProcess | undefined;
  readonly timer: boolean;
  readonly run: () => void;
  cancelled: boolean;
}

/** Simulated time in milliseconds. It advances only from one event to the next. */
export class Timeline {
  now = 0;
  private order = 0;
  private readonly heap: Happening[] = [];

  add(at: number, process: SimulatedProcess | undefined, run: () => void, timer = false): Happening {
    const happening = { at: this.notBefore(at), order: this.order++, process, timer, run, cancelled: false };
    this.push(happening);
    return happening;
  }

  /** Puts back an event that was taken too early. */
  again(happening: Happening, at: number): void {
    happening.at = this.notBefore(at);
    happening.order = this.order++;
    this.push(happening);
  }

  /** Takes the next event and advances the time to it. */
  take(): Happening | undefined {
    for (let next = this.pop(); next !== undefined; next = this.pop()) {
      if (next.cancelled) continue;
      this.now = next.at;
      return next;
    }
    return undefined;
  }

  private notBefore(at: number): number {
    return at > this.now ? at : this.now;
  }

  private push(happening: Happening): void {
    const { heap } = this;
    let at = heap.length;
    heap.push(happening);
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (before(heap[above], happening)) break;
      heap[at] = heap[above]!;
      at = above;
    }
    heap[at] = happening;
  }

  private pop(): Happening | undefined {
    const { heap } = this;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || top === last) return top;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && before(heap[below + 1], heap[below])) below += 1;
      if (before(last, heap[below])) break;
      heap[at] = heap[below]!;
      at = below;
    }
    heap[at] = last;
    return top;
  }
}

const before = (a: Happening, b: Happening): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);
