import type { ResolvedLockOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { isCalm, type Plan } from './plan.js';
import type { SimulatedProcess } from './simulated-process.js';
import { SeveralWatch } from './several-watch.js';
import type { World } from './world.js';

/** Everything settles by its time and this much. */
const SETTLES_MS = 1_000;
/** Clocks differ by less than this share. */
const DRIFT = 1.01;
/** Behind a lost message: a heartbeat with its jitter, and a question. */
const HEARTBEAT_MS = 1_500;
const CLAIM_MS = 1_750;
/** A timer may be so late. */
const KEPT_MS = 1;

/** Something asked of the core that must be answered. */
export interface Question {
  readonly process: SimulatedProcess;
  readonly label: string;
  readonly key: string;
  readonly options: ResolvedLockOptions;
  readonly order: number;
  readonly askedAt: number;
  /** How long it may take, on the clock of its process. */
  readonly limitMs: number;
  /** It is a caller that waits for the lock. */
  readonly waits: boolean;
  /** It wants these together, and keeps what it has of them. */
  readonly keys?: readonly string[];
}

/** Watches what is asked until it is answered: everything is in time, and nobody waits for a lock that nobody has. */
export class Questions {
  private readonly open = new Set<Question>();
  /** Since when a key has waiters and no holder. */
  private readonly starving = new Map<string, number>();
  private readonly minHolds = new Map<string, number>();
  private readonly lefts = new Map<string, number>();
  private readonly patienceMs: number;
  private readonly several: SeveralWatch;
  private order = 0;

  constructor(private readonly world: World) {
    this.patienceMs = patienceMs(world.plan);
    this.several = new SeveralWatch(world, this.patienceMs);
  }

  ask(
    process: SimulatedProcess,
    label: string,
    key: string,
    limitMs: number,
    options: ResolvedLockOptions,
    more: Pick<Question, 'waits' | 'keys'> = { waits: false },
  ): Question {
    const askedAt = this.world.timeline.now;
    const question = { process, label, key, options, askedAt, limitMs, ...more, order: this.order++ };
    this.open.add(question);
    return question;
  }

  answered(question: Question): void {
    this.open.delete(question);
  }

  /** Somebody came in: where many may, they come one after the other. */
  progressed(key: string): void {
    this.starving.delete(key);
  }

  isOpen(question: Question): boolean {
    return this.open.has(question);
  }

  /** The lock stays taken until then, though nobody holds it. */
  keptUntil(key: string, at: number): void {
    this.minHolds.set(key, Math.max(at + KEPT_MS, this.minHolds.get(key) ?? 0));
  }

  /** The lock may stand until then, though nobody holds it: it is left to its ttl. */
  leftUntil(key: string, at: number): void {
    this.lefts.set(key, Math.max(at, this.lefts.get(key) ?? 0));
  }

  isLeft(key: string): boolean {
    return this.world.timeline.now < (this.lefts.get(key) ?? 0);
  }

  isKept(key: string): boolean {
    return this.world.timeline.now < (this.minHolds.get(key) ?? 0) - KEPT_MS;
  }

  check(): void {
    const { now } = this.world.timeline;
    let starving = false;
    for (const question of this.open) {
      const { process, askedAt, limitMs } = question;
      if (process.gone) this.open.delete(question);
      else if (!process.turning) continue;
      else if (now > askedAt + limitMs * DRIFT + SETTLES_MS && now > process.turningSince + SETTLES_MS) {
        this.world.fail('a question was not answered in time', question.label);
      } else if (waitsAlone(question) && this.world.ledger.fits(question)) {
        starving = true;
        if (!this.starving.has(question.key)) this.starving.set(question.key, now);
      }
    }
    if (this.starving.size > 0) this.checkStarving(starving, now);
    this.several.check(this.open);
  }

  /** Nothing will happen any more. */
  checkEnd(): void {
    for (const { process, label } of this.open) {
      if (!process.gone) this.world.fail('a question was never answered', label);
    }
  }

  /** The lock stands, or may stand, though nobody holds it. */
  standsIdle(key: string): boolean {
    return this.isLeft(key) || this.world.timeline.now < (this.minHolds.get(key) ?? 0);
  }

  private checkStarving(any: boolean, now: number): void {
    for (const [key, since] of this.starving) {
      const free = any && this.isWantedAndFits(key) && !this.world.server.isForeign(key);
      if (!free || this.isKeptForMore(key) || this.standsIdle(key)) this.starving.delete(key);
      else if (now > Math.max(since, this.world.troubledAt) + this.patienceMs + this.gateMs(key)) {
        this.world.fail('nobody holds a lock that is waited for', `${key} since ${since.toFixed(1)}`);
      }
    }
  }

  /** Somebody may have it and wait for another key. */
  private isKeptForMore(key: string): boolean {
    return this.world.server.table.owner(key) !== undefined && [...this.open].some(({ keys }) => keys?.includes(key));
  }

  /** Readers at the gate of their own process ask every heartbeat whether the writer in front of them has gone. */
  private gateMs(key: string): number {
    const reads = [...this.open].every((question) => question.key !== key || !waitsAlone(question) || isRead(question));
    return reads ? HEARTBEAT_MS : 0;
  }

  /** Somebody waits, and whoever it is would fit beside those who hold: also the one that everybody else stands behind. */
  private isWantedAndFits(key: string): boolean {
    let wanted = false;
    for (const question of this.open) {
      if (!waitsAlone(question) || question.key !== key) continue;
      if (!this.world.ledger.fits(question)) return false;
      wanted ||= question.process.turning;
    }
    return wanted;
  }
}

const waitsAlone = ({ waits, keys }: Question): boolean => waits && keys === undefined;
const isRead = ({ options }: Question): boolean => options.kind === 'read';

/** How long a lock may stand idle in front of live waiters after the last trouble. */
function patienceMs(plan: Plan): number {
  const trip = 8 * plan.latencyMs + 10 * plan.lagMs + 20;
  const poll = plan.processes.some(({ deaf }) => deaf) ? 250 : 0;
  if (isCalm(plan)) return trip + poll;
  const onlyLostMessages = plan.faults.length + plan.lateShare + plan.refusalShare === 0;
  if (onlyLostMessages) return HEARTBEAT_MS + trip + poll;
  const ttlMs = Math.max(...plan.callers.map(({ options, extend }) => Math.max(options.ttlMs, extend?.ttlMs ?? 0)));
  // Where receivers are not counted, an offer to a dead token costs a claim window; all tokens that have not asked for that long
  // leave the queue then, and those of a process that asked just before it died a window later.
  const dead = plan.counted ? 1 : 2;
  return ttlMs * DRIFT + HEARTBEAT_MS + dead * (CLAIM_MS + trip) + poll;
}
