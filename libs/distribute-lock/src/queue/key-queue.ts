import type { Grant } from '../lease/grant.js';
import type { Holder } from '../lease/holder.js';
import type { LeaseHandle } from '../lease/lease-handle.js';
import type { LaneName } from '../runtime/owner-token.js';
import type { Attempt } from './attempt.js';
import type { SharedHeartbeat } from './heartbeat.js';
import { Line } from './line.js';
import type { Waiter } from './waiter.js';

/**
 * What this process knows of one key in one lane: who waits here, what is asked in Redis, and the grants it has.
 * It exists only while one of them does.
 */
export abstract class KeyQueue {
  protected sharedLine: Line | undefined = undefined;
  /** Lines of one caller each, by owner token; made when the first one comes. */
  singles: Map<string, Line> | undefined = undefined;
  /** The ttl that all of them want; 0 since they differ. */
  private singleTtlMs = 0;
  /** That of the lines of one caller each. */
  heartbeat: SharedHeartbeat | undefined = undefined;
  /** Token of the release under way: messages about it are of the past. */
  protected releasing: string | undefined = undefined;

  constructor(readonly key: string) {}

  abstract readonly lane: LaneName;

  abstract grants(): readonly Grant[];
  /** This process has the grant of this token. */
  abstract grantOf(ownerToken: string): Grant | undefined;
  /** The grant is over, or belongs to somebody else. */
  abstract drop(grant: Grant): void;
  /** Put behind owner tokens to say what kind they are. */
  abstract suffix(first: Waiter | undefined): string;
  /** Who gets the grant when `lease` ends, if it may be passed on in memory at `now`. */
  abstract heir(lease: LeaseHandle, now: number): Waiter | undefined;

  /** `by` holds the grant in the place of `from`; nobody does when it is undefined. */
  replace(grant: Grant, _from: Holder, by: Holder | undefined): void {
    grant.holder = by;
  }

  isHeld(grant: Grant): boolean {
    return grant.holder !== undefined;
  }

  /** For how long a release grants at once whichever of those who ask here heads the queue; 0 when it does not. */
  get ownTtlMs(): number {
    return 0;
  }

  /** Whether the next caller of this process is the next of all processes, so it need not let another process in first. */
  get inOrder(): boolean {
    return false;
  }

  /** Another process has come for the lock. */
  othersCame(): void {}

  /** What this process asks in the store. */
  attempts(): Attempt[] {
    return this.lines().flatMap(({ attempt }) => attempt ?? []);
  }

  /** The attempt in the queue of the store that a release serves in its turn, by the same command. */
  get standing(): Attempt | undefined {
    return undefined;
  }

  /** For how long the line asks for the lock. */
  ttlMsOf(line: Line): number {
    return line.first!.call.options.ttlMs;
  }

  /** Callers that share one attempt. Made when it is needed: most locks are held without anybody waiting. */
  get line(): Line {
    return (this.sharedLine ??= new Line(this, false));
  }

  /** Who is next in this process. Callers whose attempt stands in the queue of Redis already keep their place there. */
  get next(): Waiter | undefined {
    return this.sharedLine?.attempt === undefined ? this.sharedLine?.first : undefined;
  }

  /** The ttl that all want who ask here, single callers among them; 0 when they differ. */
  protected get commonTtlMs(): number {
    if (this.singles === undefined || this.singles.size === 0) return 0;
    const shared = this.sharedLine;
    return shared?.first === undefined || this.ttlMsOf(shared) === this.singleTtlMs ? this.singleTtlMs : 0;
  }

  /** Somebody here asks in Redis. */
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

  /** Those of them that Redis does not know of. */
  get waitingInMemory(): number {
    return this.sharedLine?.attempt === undefined ? (this.sharedLine?.size ?? 0) : 0;
  }

  /** What is known of the lease in front of those who wait; -1 when nothing is. */
  get holderLeftMs(): number {
    return this.sharedLine?.attempt?.holderLeftMs ?? -1;
  }

  /** Of the single callers' attempts. */
  get longestQueued(): Attempt | undefined {
    for (const { attempt } of this.singles?.values() ?? []) if (attempt?.queued === true) return attempt;
    return undefined;
  }

  get shortestQueued(): Attempt | undefined {
    let found: Attempt | undefined;
    for (const { attempt } of this.singles?.values() ?? []) if (attempt?.queued === true) found = attempt;
    return found;
  }

  /** The line of a single caller has its attempt. */
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

  /** The holder has come in: nobody may be left behind it. */
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
