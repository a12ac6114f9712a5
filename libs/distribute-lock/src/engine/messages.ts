import type { Grant } from './lease/grant.js';
import type { LockMessage, LockInquiry, LockStoreListener } from '../store/lock-store.js';
import type { Acquiring } from './acquiring.js';
import { droppedTokens, type EngineContext } from './context.js';
import type { Attempt } from './key-state.js';
import type { KeyStates } from './key-states.js';
import { description } from './inspecting.js';
import { LAST } from './local-hand-over.js';

/** Applies the messages of other processes. Messages are hints: a message about a token of another process changes nothing. */
export class Messages implements LockStoreListener {
  /** Grants that a message revoked, while the store is asked for confirmation. */
  private readonly confirming = new Set<Grant>();

  constructor(
    private readonly context: EngineContext,
    private readonly states: KeyStates,
    private readonly acquiring: Acquiring,
  ) {}

  /** Drops and counts a message that another client may have forged: only a token of this process is accepted. */
  message({ type, key, ownerToken }: LockMessage): void {
    if (!this.context.tokens.issued(ownerToken)) return this.unreadable();
    const state = this.states.ofToken(key, ownerToken);
    const attempt = state?.attemptOf(ownerToken);
    const grant = state?.grantOf(ownerToken);
    if (attempt !== undefined) {
      if (type === 'granted') this.acquiring.offered(attempt);
      else if (type === 'contended') {
        attempt.contended = true;
        state?.othersCame();
      }
    } else if (state !== undefined && grant !== undefined) {
      if (type === 'contended') state.contendedBy(grant);
      else if (type === 'revoked') void this.revoked(grant);
    } else if (state?.isReleasing(ownerToken) === true) {
      if (type === 'contended') state.contendedEarly(ownerToken);
    } else if (type === 'granted') {
      // A late offer to a caller that has left. A token is used once, so no other lock depends on it.
      this.context.abandoned.abandon({ key, ownerToken }, 0);
    }
  }

  private async revoked(grant: Grant): Promise<void> {
    if (this.confirming.has(grant)) return this.unreadable();
    this.confirming.add(grant);
    const holds = await this.holds(grant);
    this.confirming.delete(grant);
    if (holds) return this.unreadable();
    this.context.watchdog.lose(grant, { reason: 'forced' });
  }

  /** Whether the grant still holds the lock; true if the store does not answer. */
  private async holds({ key, ownerToken }: Grant): Promise<boolean> {
    const state = await this.context.store.inspect?.(key).catch(() => undefined);
    return state === undefined || state.holders.includes(ownerToken);
  }

  describe(inquiry?: LockInquiry): string | undefined {
    if (inquiry === undefined) return description();
    const { key, ownerToken, last } = inquiry;
    const { tokens, clock } = this.context;
    if (!tokens.issued(ownerToken)) {
      this.unreadable();
      return undefined;
    }
    const grants = this.states.ofKey(key).flatMap((state) => state.grants());
    for (const grant of grants) if (last === true && grant.ownerToken === ownerToken) grant.passes = LAST;
    return description(grants, clock.now());
  }

  unreadable(): void {
    this.context.foreignMessages.add();
  }

  unsubscribed(reason?: Error): void {
    this.context.inbox.changed(false, reason);
    for (const attempt of this.attempts()) this.acquiring.wakeUps.wake({ reason: 'lost connection', attempt });
  }

  resubscribed(): void {
    this.context.inbox.changed(true);
    for (const attempt of this.attempts()) {
      attempt.awaitMessage(false);
      this.acquiring.wakeUps.wake({ reason: 'due', attempt });
    }
  }

  dropped(count: number): void {
    this.context.events.emit(droppedTokens(count));
  }

  private attempts(): Attempt[] {
    return this.states.all().flatMap((state) => state.attempts());
  }
}
