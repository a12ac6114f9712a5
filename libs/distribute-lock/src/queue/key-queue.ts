import type { Grant } from '../lease/grant.js';
import type { Attempt } from './attempt.js';
import { Line } from './line.js';
import type { Waiter } from './waiter.js';

/**
 * What this process knows of one key: who waits here, what is asked in Redis, and the grant it has.
 * It exists only while one of them does.
 */
export class KeyQueue {
  private sharedLine: Line | undefined = undefined;
  /** Lines of strict fairness, by owner token; made when the first one comes. */
  strict: Map<string, Line> | undefined = undefined;
  /** The longest ttl among them: whoever of them is next gets at least what it asked for. */
  strictTtlMs = 0;
  grant: Grant | undefined = undefined;
  /** Token of the release under way: messages about it are of the past. */
  releasing: string | undefined = undefined;

  constructor(readonly key: string) {}

  /** Callers that share one attempt. Made when it is needed: most locks are held without anybody waiting. */
  get line(): Line {
    return (this.sharedLine ??= new Line(this, false));
  }

  /** Who is next in this process. Callers whose attempt stands in the queue of Redis already keep their place there. */
  get next(): Waiter | undefined {
    return this.sharedLine?.attempt === undefined ? this.sharedLine?.first : undefined;
  }

  /** This process holds the lock or is trying to get it. */
  get taken(): boolean {
    return this.grant !== undefined || this.sharedLine?.attempt !== undefined || (this.strict?.size ?? 0) > 0;
  }

  get idle(): boolean {
    return !this.taken && this.releasing === undefined && (this.sharedLine?.size ?? 0) === 0;
  }

  get waiting(): number {
    return (this.sharedLine?.size ?? 0) + (this.strict?.size ?? 0);
  }

  /** The line of a caller of strict fairness has its attempt. */
  addStrict(line: Line, attempt: Attempt): void {
    (this.strict ??= new Map()).set(attempt.ownerToken, line);
    this.strictTtlMs = Math.max(this.strictTtlMs, line.first?.call.options.ttlMs ?? 0);
  }

  attemptOf(ownerToken: string): Attempt | undefined {
    const shared = this.sharedLine?.attempt;
    return shared?.ownerToken === ownerToken ? shared : this.strict?.get(ownerToken)?.attempt;
  }

  /** The attempt ends, with a grant or without. */
  end(attempt: Attempt): void {
    attempt.over = true;
    attempt.line.attempt = undefined;
    if (this.strict?.delete(attempt.ownerToken) && this.strict.size === 0) this.strictTtlMs = 0;
  }

  /** The holder has come in: nobody may be left behind it. */
  tidy(): void {
    const line = this.sharedLine;
    if (line?.size === 0 && line.attempt === undefined) this.sharedLine = undefined;
  }

  lines(): Line[] {
    return [...(this.sharedLine === undefined ? [] : [this.sharedLine]), ...(this.strict?.values() ?? [])];
  }
}
