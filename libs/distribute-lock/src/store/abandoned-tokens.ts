import type { Clock } from '../runtime/clock.js';
import { CountReport } from '../runtime/count-report.js';
import { Retry } from '../runtime/retries.js';
import { Alarm, Timer, type Timers } from '../runtime/timers.js';
import type { AnswerListener } from './lock-store.js';
import { EXECUTION_LIMIT_MS } from './protocol.js';

/** A token is undone until this time after its ttl, because the store may execute a command of it late. */
export const GRACE_MS = 10_000;
/** Maximum number of abandoned tokens of one store. Bounds memory and the work after an outage. */
const MOST_TOKENS = 10_000;
/** Maximum number of undos in flight. They fit into one script call, so that they do not delay other commands. */
const MOST_IN_FLIGHT = 64;
/** Final undos are scheduled in steps of this length, so that they share timers. */
const FINAL_UNDO_STEP_MS = 100;

/**
 * Earliest time of a final undo after a command failed at `now` without an answer: Redis cannot execute that command
 * later.
 */
export const finalUndoAt = (now: number): number => now + EXECUTION_LIMIT_MS;

/** Identifies a token to undo. */
export interface AbandonedName {
  readonly ownerToken: string;
}

/** State of the commands of a token. */
export interface AbandonedState {
  /**
   * An undo sent at or after this time is final; 0 when every command of the token was answered. See
   * {@link finalUndoAt}.
   */
  readonly finalAt?: number;
  /** Sends another undo after the one in flight, which may be executed too early. */
  readonly again?: boolean;
  /** The token was just released: only the final undo remains. */
  readonly released?: boolean;
}

export interface AbandonedTokensSettings<Name extends AbandonedName> {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Sends one undo, which removes the token from the lock and its queues. */
  readonly undo: (name: Name, listener: AnswerListener<unknown>) => void;
  /** Called when a token needs no further undo. */
  readonly settled: () => void;
  /** Reports the number of tokens that were dropped since the last report. */
  readonly dropped: (count: number) => void;
}

class AbandonedToken<Name> extends Timer {
  inFlight = false;
  sentAt = -Infinity;
  /** Another undo follows the one in flight. */
  again = false;

  constructor(
    public name: Name,
    public finalAt: number,
    readonly until: number,
    private readonly ready: (token: AbandonedToken<Name>) => void,
  ) {
    super();
  }

  due(): void {
    this.ready(this);
  }
}

/** Sends one undo at a time while the store does not respond, to detect when it responds again. */
class Scout extends Retry {
  constructor(readonly due: () => void) {
    super();
  }
}

/**
 * Attempts and leases that ended while the store may still execute one of their commands. Each token is undone until
 * the store confirms it. The first undo is sent at once, so that the key becomes free early. After an unanswered
 * command a final undo follows when the store can no longer execute that command.
 *
 * The work is bounded. Each token has at most one undo in flight, and all tokens together have 64. A store that does
 * not respond receives one undo per step of the back-off. Beyond 10,000 tokens the oldest ones are dropped.
 */
export class AbandonedTokens<Name extends AbandonedName> {
  private readonly tokens = new Map<string, AbandonedToken<Name>>();
  /** Tokens whose undo is due, oldest first. */
  private readonly waiting = new Set<AbandonedToken<Name>>();
  /** Grants with an unanswered command, and the time from which an undo of them is final. */
  private readonly troubled = new Map<string, number>();
  private readonly leftAlone = new Set<string>();
  private inFlight = 0;
  /** The store does not respond. */
  private paused = false;
  private scouting: AbandonedToken<Name> | undefined;
  private readonly scout = new Scout(() => this.sendScout());
  private readonly dropped: CountReport;
  private closed = false;
  private readonly ready = (token: AbandonedToken<Name>): void => this.enqueue(token);

  constructor(private readonly settings: AbandonedTokensSettings<Name>) {
    const { clock, timers, dropped } = settings;
    this.dropped = new CountReport(clock, timers, dropped);
  }

  get size(): number {
    return this.tokens.size;
  }

  /** Undoes a token whose commands may have been sent. */
  abandon(name: Name, ttlMs: number, { finalAt = 0, again = false, released = false }: AbandonedState = {}): void {
    const { ownerToken } = name;
    if (this.closed || this.leftAlone.has(ownerToken)) return;
    const final = Math.max(finalAt, this.troubleOf(ownerToken));
    const known = this.tokens.get(ownerToken);
    if (known === undefined) {
      const token = this.add(name, ttlMs, final);
      return released ? this.undoLater(token) : this.enqueue(token);
    }
    known.name = name;
    known.finalAt = Math.max(known.finalAt, final);
    if (!again) return;
    if (known.inFlight) known.again = true;
    else this.enqueue(known);
  }

  /** Undoes the token after `delayMs`, and not before, whatever later answers and messages report. */
  abandonLater(name: Name, ttlMs: number, delayMs: number): void {
    this.leaveFor(name.ownerToken, delayMs, () => this.abandon(name, ttlMs));
  }

  /** Forgets the token because none of its commands was sent. */
  neverSent(ownerToken: string): void {
    const token = this.tokens.get(ownerToken);
    if (token !== undefined) this.forget(token);
  }

  /** Records a grant that follows an unanswered command; see {@link released}. */
  granted(ownerToken: string, finalAt: number): void {
    const now = this.settings.clock.now();
    for (const [other, at] of this.troubled) {
      if (at > now) break;
      this.troubled.delete(other);
    }
    if (finalAt > now) this.troubled.set(ownerToken, finalAt);
  }

  /**
   * Handles a confirmed release. If a command before the grant is unanswered, the store may still execute it, so a
   * final undo follows.
   */
  released(name: Name, ttlMs: number): void {
    if (this.troubled.size === 0) return;
    const finalAt = this.troubled.get(name.ownerToken);
    if (finalAt === undefined) return;
    if (finalAt > this.settings.clock.now()) this.abandon(name, ttlMs, { released: true });
    else this.troubled.delete(name.ownerToken);
  }

  /**
   * Leaves the token to its ttl: later answers and messages do not undo it. Calls `over` when the token is forgotten.
   */
  leaveToTtl(ownerToken: string, ttlMs: number, over: () => void = () => undefined): void {
    this.leaveFor(ownerToken, ttlMs + GRACE_MS, over);
  }

  private leaveFor(ownerToken: string, delayMs: number, over: () => void): void {
    this.leftAlone.add(ownerToken);
    const forget = (): void => {
      this.leftAlone.delete(ownerToken);
      over();
    };
    this.settings.timers.add(new Alarm(forget), delayMs);
  }

  /** Forgets all tokens and sends no further undo. Their keys in the store expire with their ttl. */
  close(): void {
    this.closed = true;
    this.tokens.clear();
    this.waiting.clear();
    this.troubled.clear();
  }

  private add(name: Name, ttlMs: number, finalAt: number): AbandonedToken<Name> {
    const until = this.settings.clock.now() + ttlMs + GRACE_MS;
    const token = new AbandonedToken(name, finalAt, until, this.ready);
    this.tokens.set(name.ownerToken, token);
    if (this.tokens.size > MOST_TOKENS) this.dropOldest();
    return token;
  }

  private enqueue(token: AbandonedToken<Name>): void {
    this.settings.timers.remove(token);
    this.waiting.add(token);
    this.pump();
  }

  private pump(): void {
    while (!this.paused && this.inFlight < MOST_IN_FLIGHT) {
      const token = this.next();
      if (token === undefined) return;
      this.send(token);
    }
  }

  private sendScout(): void {
    this.scouting = this.next();
    if (this.scouting === undefined) this.responds();
    else this.send(this.scouting);
  }

  /** The oldest due token that has not expired. */
  private next(): AbandonedToken<Name> | undefined {
    const now = this.settings.clock.now();
    for (const token of this.waiting) {
      this.waiting.delete(token);
      if (now < token.until) return token;
      this.forget(token);
    }
    return undefined;
  }

  private send(token: AbandonedToken<Name>): void {
    this.inFlight += 1;
    token.inFlight = true;
    token.again = false;
    token.sentAt = this.settings.clock.now();
    this.settings.undo(token.name, {
      answered: () => this.undone(token),
      failed: () => this.failed(token),
    });
  }

  private undone(token: AbandonedToken<Name>): void {
    if (this.ended(token)) {
      if (token.again) this.waiting.add(token);
      else if (token.sentAt >= token.finalAt) this.forget(token);
      else this.undoLater(token);
    }
    this.responds();
  }

  private failed(token: AbandonedToken<Name>): void {
    if (this.ended(token)) this.waiting.add(token);
    if (this.paused && token !== this.scouting) return;
    this.paused = true;
    this.settings.timers.add(this.scout, this.scout.nextDelayMs());
  }

  /** @returns whether the token still needs an undo */
  private ended(token: AbandonedToken<Name>): boolean {
    this.inFlight -= 1;
    token.inFlight = false;
    return this.tokens.get(token.name.ownerToken) === token;
  }

  private responds(): void {
    this.paused = false;
    this.scouting = undefined;
    this.scout.failures = 0;
    this.settings.timers.remove(this.scout);
    this.pump();
  }

  private undoLater(token: AbandonedToken<Name>): void {
    const { clock, timers } = this.settings;
    const steps = Math.ceil((token.finalAt - clock.now()) / FINAL_UNDO_STEP_MS);
    timers.add(token, Math.max(0, steps) * FINAL_UNDO_STEP_MS);
  }

  private troubleOf(ownerToken: string): number {
    const finalAt = this.troubled.get(ownerToken);
    if (finalAt === undefined) return 0;
    this.troubled.delete(ownerToken);
    return finalAt;
  }

  private forget(token: AbandonedToken<Name>): void {
    this.settings.timers.remove(token);
    this.waiting.delete(token);
    this.tokens.delete(token.name.ownerToken);
    this.settings.settled();
  }

  private dropOldest(): void {
    for (const token of this.tokens.values()) {
      this.forget(token);
      break;
    }
    this.dropped.add();
  }
}
