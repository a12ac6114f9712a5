import { isCalm } from './plan.js';
import { SEVERAL } from './several-plan.js';
import type { Question } from './questions.js';
import type { World } from './world.js';

/** Somebody who takes three keys may have to wait for each of them. */
const MOST_KEYS = 3;
const HEARTBEAT_MS = 1_500;

/**
 * Watches those who keep keys and wait for more of them: they do not wait for each other, so somebody works or soon does; and
 * what they kept in vain is not left behind.
 */
export class SeveralWatch {
  private readonly watches: boolean;
  private readonly calm: boolean;
  private idleSince = Infinity;
  /** Since when a lock stands that nobody has and nobody wants. */
  private readonly standing = new Map<string, number>();

  constructor(
    private readonly world: World,
    /** How long a single lock may stand idle in front of those who wait for it. */
    private readonly patienceMs: number,
  ) {
    this.watches = world.plan.callers.some(({ keys }) => keys !== undefined);
    this.calm = isCalm(world.plan);
  }

  check(open: ReadonlySet<Question>): void {
    if (!this.watches) return;
    this.checkIdle(open);
    if (this.calm) for (const key of SEVERAL) this.checkStanding(key, open);
  }

  private checkIdle(open: ReadonlySet<Question>): void {
    const { timeline, troubledAt } = this.world;
    if (!this.isIdle(open)) this.idleSince = Infinity;
    else if (this.idleSince === Infinity) this.idleSince = timeline.now;
    else if (timeline.now > Math.max(this.idleSince, troubledAt) + MOST_KEYS * this.patienceMs + HEARTBEAT_MS)
      this.world.fail('nobody works, though somebody waits for several keys', `since ${this.idleSince.toFixed(1)}`);
  }

  private isIdle(open: ReadonlySet<Question>): boolean {
    const { ledger, questions, server } = this.world;
    if (ledger.isHeld()) return false;
    for (const { keys, waits, process } of open) {
      if (keys === undefined || !waits || !process.turning) continue;
      return ![...server.table.keys()].some((key) => server.isForeign(key) || questions.standsIdle(key));
    }
    return false;
  }

  private checkStanding(key: string, open: ReadonlySet<Question>): void {
    const { ledger, questions, server, timeline } = this.world;
    const isFree = server.table.owner(key) === undefined || ledger.isHeld(key) || questions.standsIdle(key);
    if (isFree || [...open].some((question) => (question.keys ?? [question.key]).includes(key)))
      this.standing.delete(key);
    else if (!this.standing.has(key)) this.standing.set(key, timeline.now);
    else if (timeline.now > this.standing.get(key)! + this.patienceMs)
      this.world.fail('a lock stands that nobody has', key);
  }
}
