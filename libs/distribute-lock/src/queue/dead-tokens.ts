import type { Clock } from '../runtime/clock.js';
import { laneOf } from '../runtime/owner-token.js';
import { Timed, type TimerLanes } from '../runtime/timer-lanes.js';
import { whenAnswered } from '../store/answer.js';
import type { LockStore } from '../store/lock-store.js';

/** Between tries while the store does not answer. */
const RETRY_MS = 250;
/** How much longer than its ttl a token is pursued: an unanswered acquire may be applied when the network is back. */
const GRACE_MS = 10_000;
/** An acquire that was under way when a connection broke may arrive after its undo; it is undone once more. */
const SECOND_UNDO_MS = 1_000;

class DeadToken extends Timed {
  constructor(
    readonly key: string,
    readonly ownerToken: string,
    readonly until: number,
    public troubled: boolean,
    private readonly undo: (token: DeadToken) => void,
  ) {
    super();
  }

  due(): void {
    this.undo(this);
  }
}

/** The token of a lease that is over, but whose key ends with its ttl: it is not undone. */
class SparedToken extends Timed {
  constructor(readonly due: () => void) {
    super();
  }
}

/**
 * Undoes attempts that did not end in a grant, and leases that were lost: a token that is neither is dead for ever,
 * and must not stand in Redis as holder or in a queue.
 */
export class DeadTokens {
  private readonly tokens = new Map<string, DeadToken>();
  private readonly spared = new Set<string>();
  private closed = false;

  constructor(
    private readonly store: LockStore,
    private readonly clock: Clock,
    private readonly lanes: TimerLanes,
    private readonly settled: () => void,
  ) {}

  get size(): number {
    return this.tokens.size;
  }

  /** @param troubled - a command of the token went unanswered, so it may still be applied later */
  bury(key: string, ownerToken: string, ttlMs: number, troubled = false): void {
    if (this.closed || this.spared.has(ownerToken)) return;
    const known = this.tokens.get(ownerToken);
    if (known !== undefined) {
      known.troubled ||= troubled;
      return;
    }
    const token = new DeadToken(key, ownerToken, this.clock.now() + ttlMs + GRACE_MS, troubled, (dead) =>
      this.undo(dead),
    );
    this.tokens.set(ownerToken, token);
    this.undo(token);
  }

  /** From now on the token is left to its ttl, whatever an answer or a message says of it. */
  spare(ownerToken: string, ttlMs: number): void {
    this.spared.add(ownerToken);
    this.lanes.add(new SparedToken(() => this.spared.delete(ownerToken)), ttlMs + GRACE_MS);
  }

  /** Forgets all, and undoes nothing any more; what is left in the store ends with its ttl. */
  close(): void {
    this.closed = true;
    this.tokens.clear();
  }

  private undo(token: DeadToken): void {
    const { key, ownerToken } = token;
    whenAnswered(this.store.release({ key, ownerToken, kind: laneOf(ownerToken) }), {
      answered: () => this.undone(token),
      failed: () => this.failed(token),
    });
  }

  private undone(token: DeadToken): void {
    if (!token.troubled) return this.forget(token);
    token.troubled = false;
    this.lanes.add(token, SECOND_UNDO_MS);
  }

  private failed(token: DeadToken): void {
    if (this.closed) return;
    token.troubled = true;
    if (this.clock.now() >= token.until) this.forget(token);
    else this.lanes.add(token, RETRY_MS);
  }

  private forget(token: DeadToken): void {
    this.tokens.delete(token.ownerToken);
    this.settled();
  }
}
