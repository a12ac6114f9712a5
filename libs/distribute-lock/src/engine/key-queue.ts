import type { Grant } from './lease/grant.js';
import type { Holder } from './lease/holder.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import type { TokenKind } from '../runtime/owner-token.js';
import type { Attempt } from './attempt.js';
import type { SharedHeartbeat } from './heartbeat.js';
import { Line } from './line.js';
import type { Waiter } from './waiter.js';

/**
 * What this process knows of one key in one lane: its waiters, its attempts in Redis, and its grants.
 * It exists only while it has one of them.
 */
export abstract class KeyQueue {
  protected sharedLine: Line | undefined = undefined;
  /** Lines of single callers by owner token; created for the first one. */
  singles: Map<string, Line> | undefined = undefined;
  /** The ttl of all single callers; 0 if they differ. */
  private singleTtlMs = 0;
  /** The heartbeat of the single callers. */
  heartbeat: SharedHeartbeat | undefined = undefined;
  /** Owner token of the release in flight: messages about it are outdated. */
  protected releasing: string | undefined = undefined;

  constructor(readonly key: string) {}

  abstract readonly lane: TokenKind;

  abstract grants(): readonly Grant[];
  /** The grant of this process with this token. */
  abstract grantOf(ownerToken: string): Grant | undefined;
  /** The grant has ended, or its lock belongs to another owner. */
  abstract drop(grant: Grant): void;
  /** The suffix of owner tokens, which encodes the kind. */
  abstract suffix(first: Waiter | undefined): string;
  /** The next holder of the grant when `lease` ends, if a local hand-over is allowed at `now`. */
  abstract heir(lease: LeaseHandle, now: number): Waiter | undefined;

  /** Replaces the holder `from` by `by`; without `by` the grant has no holder. */
  replace(grant: Grant, _from: Holder, by: Holder | undefined): void {
    grant.holder = by;
  }

  isHeld(grant: Grant): boolean {
    return grant.holder !== undefined;
  }

  /** The ttl of a grant by a release to whichever attempt of this process is first in the queue; 0 if it may not grant. */
  get ownTtlMs(): number {
    return 0;
  }

  /** Whether the next caller of this process is also next among all processes, so that no other process must go first. */
  get inOrder(): boolean {
    return false;
  }

  /** Another process waits for the lock. */
  othersCame(): void {}

  /** The attempts that this process has in the store. */
  attempts(): Attempt[] {
    return this.lines().flatMap(({ attempt }) => attempt ?? []);
  }

  /** The queued attempt that a release serves in its turn, by the same command. */
  get standing(): Attempt | undefined {
    return undefined;
  }

  /** The ttl that the line requests. */
  ttlMsOf(line: Line): number {
    return line.first!.call.options.ttlMs;
  }

  /** The line of callers that share one attempt; created on demand, because most locks have no waiters. */
  get line(): Line {
    return (this.sharedLine ??= new Line(this, false));
  }

  /** The next waiter of this process. Waiters whose attempt is queued in Redis keep their place there. */
  get next(): Waiter | undefined {
    return this.sharedLine?.attempt === undefined ? this.sharedLine?.first : undefined;
  }

  /** The ttl that all callers with an attempt want, single callers included; 0 if they differ. */
  protected get commonTtlMs(): number {
    if (this.singles === undefined || this.singles.size === 0) return 0;
    const shared = this.sharedLine;
    return shared?.first === undefined || this.ttlMsOf(shared) === this.singleTtlMs ? this.singleTtlMs : 0;
  }

  /** Whether this process has an attempt in Redis. */
  get asks(): boolean {
    return this.sharedLine?.attempt !== undefined || (this.singles?.size ?? 0) > 0;
  }

  get idle(): boolean {
    return (
      !this.asks && this.grants().length === 0 && this.releasing === undefined && (this.sharedLine?.size ?? 0) === 0
    );
  }

  get waiting(): number {
    return (this.sharedLine?.size ?? 0) + (this.singles?.size ?? 0);
  }

  /** Waiters without an attempt in Redis. */
  get waitingInMemory(): number {
    return this.sharedLine?.attempt === undefined ? (this.sharedLine?.size ?? 0) : 0;
  }

  /** Rest of the lease in front of the waiters; -1 when unknown. */
  get holderLeftMs(): number {
    return this.sharedLine?.attempt?.holderLeftMs ?? -1;
  }

  /** The attempt of a single caller that was queued first. */
  get longestQueued(): Attempt | undefined {
    for (const { attempt } of this.singles?.values() ?? []) if (attempt?.queued === true) return attempt;
    return undefined;
  }

  get shortestQueued(): Attempt | undefined {
    let found: Attempt | undefined;
    for (const { attempt } of this.singles?.values() ?? []) if (attempt?.queued === true) found = attempt;
    return found;
  }

  /** Adds the line of a single caller with its attempt. */
  addSingle(line: Line, attempt: Attempt): void {
    const singles = (this.singles ??= new Map());
    const ttlMs = line.first?.call.options.ttlMs ?? 0;
    this.singleTtlMs = singles.size === 0 || ttlMs === this.singleTtlMs ? ttlMs : 0;
    singles.set(attempt.ownerToken, line);
  }

  attemptOf(ownerToken: string): Attempt | undefined {
    const shared = this.sharedLine?.attempt;
    return shared?.ownerToken === ownerToken ? shared : this.singles?.get(ownerToken)?.attempt;
  }

  /** The attempt ends, with a grant or without. */
  end(attempt: Attempt): void {
    attempt.over = true;
    attempt.line.end(attempt);
    this.singles?.delete(attempt.ownerToken);
    if (attempt.line.single) this.heartbeat?.left();
  }

  /** Removes an empty line after its last waiter was served. */
  tidy(): void {
    const line = this.sharedLine;
    if (line?.size === 0 && line.attempt === undefined) this.sharedLine = undefined;
  }

  lines(): Line[] {
    return [...(this.sharedLine === undefined ? [] : [this.sharedLine]), ...(this.singles?.values() ?? [])];
  }

  releaseStarts(ownerToken: string): void {
    this.releasing = ownerToken;
  }

  releaseEnds(ownerToken: string): void {
    if (this.releasing === ownerToken) this.releasing = undefined;
  }

  isReleasing(ownerToken: string): boolean {
    return this.releasing === ownerToken;
  }
}
