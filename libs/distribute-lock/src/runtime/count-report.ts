import type { Clock } from './clock.js';
import { Timer, type Timers } from './timers.js';

const FIRST_REPORT_MS = 1_000;
const REPORT_MS = 60_000;

/** Counts frequent occurrences and reports the count since the last report, at most once a minute. */
export class CountReport extends Timer {
  private count = 0;
  private reportedAt = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly timers: Timers,
    private readonly report: (count: number) => void,
  ) {
    super();
  }

  add(): void {
    this.count += 1;
    if (this.count > 1) return;
    this.timers.add(this, Math.max(FIRST_REPORT_MS, this.reportedAt + REPORT_MS - this.clock.now()));
  }

  due(): void {
    const { count } = this;
    this.reportedAt = this.clock.now();
    this.count = 0;
    this.report(count);
  }
}
