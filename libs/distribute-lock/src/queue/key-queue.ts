import type { Grant } from '../lease/grant.js';
import type { Attempt } from './attempt.js';
import { Line } from './line.js';

/**
 * What this process knows of one key: who waits here, what is asked in Redis, and the grant it has.
 * It exists only while one of them does.
 */
export class KeyQueue {
  /** Callers that share one attempt. */
  readonly line = new Line(this, false);
  /** Lines of strict fairness, by owner token; made when the first one comes. */
  strict: Map<string, Line> | undefined = undefined;
  /** The longest ttl among them: whoever of them is next gets at least what it asked for. */
  strictTtlMs = 0;
  grant: Grant | undefined = undefined;
  /** Token of the release under way: messages about it are of the past. */
  releasing: string | undefined = undefined;

  constructor(readonly key: string) {}

  /** This process holds the lock or is trying to get it. */
  get taken(): boolean {
    return this.grant !== undefined || this.line.attempt !== undefined || (this.strict?.size ?? 0) > 0;
  }

  get idle(): boolean {
    return !this.taken && this.releasing === undefined && this.line.size === 0;
  }

  get waiting(): number {
    return this.line.size + (this.strict?.size ?? 0);
  }

  /** The line of a caller of strict fairness has its attempt. */
  addStrict(line: Line, attempt: Attempt): void {
    (this.strict ??= new Map()).set(attempt.ownerToken, line);
    this.strictTtlMs = Math.max(this.strictTtlMs, line.first?.call.options.ttlMs ?? 0);
  }

  attemptOf(ownerToken: string): Attempt | undefined {
    const shared = this.line.attempt;
    return shared?.ownerToken === ownerToken ? shared : this.strict?.get(ownerToken)?.attempt;
  }

  /** The attempt ends, with a grant or without. */
  end(attempt: Attempt): void {
    attempt.over = true;
    attempt.line.attempt = undefined;
    if (this.strict?.delete(attempt.ownerToken) && this.strict.size === 0) this.strictTtlMs = 0;
  }

  lines(): Line[] {
    return [this.line, ...(this.strict?.values() ?? [])];
  }
}
