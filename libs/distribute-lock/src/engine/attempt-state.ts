import type { LockHandOver } from '../channels.js';
import { Retry } from '../runtime/retries.js';

/**
 * What happens to an attempt in this process:
 *
 * - `idle`: this process waits for no answer. The attempt is new, sleeps, or pauses after a failure.
 * - `delayed`: it waits for the subscription before its command is sent.
 * - `in flight`: a command was sent, and neither an answer nor a failure has come.
 * - `over`: it has ended, with a grant or without. An answer may still come.
 */
type Phase = 'idle' | 'delayed' | 'in flight' | 'over';

/**
 * What is known of an attempt in the store, apart from a command in flight:
 *
 * - `absent`: the store has executed no command of it.
 * - `after own hold`: also absent, and this process held the lock when the first command was sent.
 * - `possible`: the store may have executed a command, and it is not known whether the lock is held.
 * - `not queued`: the same, but it is known: by an answer, or because this process held the lock.
 * - `placed`: a release that named it was executed, so the store may have queued it.
 * - `queued`: an answer says that it is queued. A lost place does not change that.
 */
type InStore = 'absent' | 'after own hold' | 'possible' | 'not queued' | 'placed' | 'queued';

/**
 * Whether a message announces the grant:
 *
 * - `awaited`: the attempt is queued behind a lease that has not ended.
 * - `offered`: a message or an answer offers the lock to its token, and no command has followed: the process must claim it.
 */
type Offer = 'none' | 'awaited' | 'offered';

/** One request for a lock: where its command is, what is known of it in the store, and how it may get the lock. */
export abstract class AttemptState extends Retry {
  private phase: Phase = 'idle';
  private inStore: InStore = 'absent';
  private offer: Offer = 'none';
  /** How the latest command gets the lock, if it does; `undefined` while no holder is known. */
  path: LockHandOver | undefined = undefined;
  /** Another process waits behind this attempt, so its grant starts as contended. */
  contended = false;
  /** The shared heartbeat sent it, so its answer counts for all attempts of the key. */
  speaksForAll = false;
  /** An undo that is sent at or after this time is final; 0 while every command was answered. */
  finalUndoAt = 0;
  /** How many grants came too late, so that the command was repeated; see {@link MOST_LATE_ANSWERS}. */
  lateGrants = 0;
  /** When the last command was sent. */
  lastSentAt = 0;
  /** The ttl that the last command requested. */
  ttlMs = 0;
  lastError: Error | undefined = undefined;
  /** The earliest end of the lease in front, as of the last `queued` answer; -1 when unknown. */
  holderEndsAt = -1;

  /** A command can be sent. */
  get sendable(): boolean {
    return this.phase === 'idle';
  }

  get delayed(): boolean {
    return this.phase === 'delayed';
  }

  get over(): boolean {
    return this.phase === 'over';
  }

  /** The store has answered at least once, or this process held the lock, so it is known whether the lock is held. */
  get answered(): boolean {
    return this.inStore !== 'absent' && this.inStore !== 'possible';
  }

  get queued(): boolean {
    return this.inStore === 'queued';
  }

  /** The store has queued the attempt, or may have done so when it executed a release. */
  get mayBeQueued(): boolean {
    return this.inStore === 'queued' || this.inStore === 'placed';
  }

  /** The store has executed a command, or may have. A command in flight does not count. */
  get mayBeInStore(): boolean {
    return this.inStore !== 'absent' && this.inStore !== 'after own hold';
  }

  /** Whether the attempt needs an undo when it ends now. */
  get needsUndo(): boolean {
    return this.mayBeInStore || this.phase === 'in flight';
  }

  get awaitsMessage(): boolean {
    return this.offer === 'awaited';
  }

  get offered(): boolean {
    return this.offer === 'offered';
  }

  /** The latest answer said that another process holds the lock. Unknown while a command is in flight or after a failure. */
  get seesHolder(): boolean {
    return this.phase === 'idle' && this.answered && this.offer !== 'offered' && this.lastError === undefined;
  }

  /** The command waits for the subscription. */
  wasDelayed(): void {
    this.ensure(this.phase === 'idle', 'delayed');
    this.phase = 'delayed';
  }

  /** A command is sent. */
  wasSent(ttlMs: number, now: number): void {
    this.begin(ttlMs);
    // The lease in front has ended without a message, as far as the latest answer shows.
    const hasExpired = this.lastSentAt > 0 && this.holderEndsAt >= 0 && now >= this.holderEndsAt;
    // The grant has been reported.
    if (this.lateGrants > 0) this.path = undefined;
    else if (this.offered) this.path = 'message';
    else if (this.queued) this.path = hasExpired ? 'expiry' : 'heartbeat';
    if (this.offered) this.offer = 'none';
    this.lastSentAt = now;
  }

  /** A release names it as the next attempt. */
  wasSentByRelease(ttlMs: number): void {
    this.begin(ttlMs);
    if (!this.answered) this.inStore = this.mayBeInStore ? 'not queued' : 'after own hold';
  }

  private begin(ttlMs: number): void {
    this.ensure(this.phase === 'idle' || this.phase === 'delayed', 'sent');
    this.phase = 'in flight';
    this.ttlMs = ttlMs;
  }

  /** An answer or a failure of the command has come. */
  commandEnded(): void {
    if (this.phase === 'in flight') this.phase = 'idle';
  }

  /** The store has executed a command, or may have. */
  wasExecuted(): void {
    if (!this.mayBeInStore) this.inStore = this.answered ? 'not queued' : 'possible';
  }

  /** The store has answered without a grant. */
  wasRefused(): void {
    this.failures = 0;
    this.lastError = undefined;
    if (!this.mayBeQueued) this.inStore = 'not queued';
  }

  /** The store has executed the release, and may have queued the attempt. */
  wasPlaced(): void {
    if (!this.queued) this.inStore = 'placed';
  }

  wasQueued(): void {
    this.inStore = 'queued';
    this.speaksForAll = false;
  }

  /** The store offers the lock to this token. */
  wasOffered(): void {
    this.offer = 'offered';
  }

  /** Whether a message is to announce the grant. An offer that has come remains. */
  awaitMessage(expected: boolean): void {
    if (!this.offered) this.offer = expected ? 'awaited' : 'none';
  }

  /** The grant came too late, and the command is repeated. */
  wasGrantedLate(): void {
    this.lateGrants += 1;
    this.awaitMessage(false);
  }

  /** The attempt ends, with a grant or without. It is never reused. */
  end(): void {
    this.phase = 'over';
  }

  /** Throws after a defect of the engine: two commands of one attempt would make its answers ambiguous. */
  private ensure(allowed: boolean, change: string): void {
    if (!allowed) throw new Error(`An attempt that is ${this.phase} cannot be ${change}.`);
  }
}
