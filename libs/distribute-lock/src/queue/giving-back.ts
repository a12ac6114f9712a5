import type { Grant } from '../lease/grant.js';
import type { LeaseHandle, LeaseKeeper } from '../lease/lease-handle.js';
import { Timed } from '../runtime/timer-lanes.js';
import type { ReleaseAnswer } from '../store/lock-store.js';
import type { Asking } from './asking.js';
import type { Attempt } from './attempt.js';
import type { CoreParts } from './core-parts.js';
import type { KeyQueue } from './key-queue.js';
import { MOST_NUMBERS, mayPass } from './local-passing.js';
import { start } from './settling.js';
import type { Waiter } from './waiter.js';

/** A holder's result does not wait longer than this for a release that is not answered; it goes on behind. */
const PATIENCE_MS = 100;

/** What a release needs when its answer comes. */
interface Release {
  readonly queue: KeyQueue;
  readonly grant: Grant;
  readonly lease: LeaseHandle;
  readonly sentAt: number;
  /** The attempt of the callers that wait here, queued by the same command. */
  readonly attempt: Attempt | undefined;
  readonly ttlMs: number;
  readonly block: number;
}

/** Who is next in this process. Callers whose attempt stands in the queue of Redis already keep their place there. */
function nextHere({ line }: KeyQueue): Waiter | undefined {
  return line.attempt === undefined ? line.first : undefined;
}

class Patience extends Timed {
  constructor(readonly due: () => void) {
    super();
  }
}

/** Gives grants on: to the next caller of this process in memory, to another process, or back to the store. */
export class GivingBack {
  constructor(
    private readonly parts: CoreParts,
    private readonly asking: Asking,
    private readonly keeper: LeaseKeeper,
    private readonly changed: (queue: KeyQueue) => void,
  ) {}

  /** The holder has ended; resolves when the lock is another's or free, or when the store is too slow to tell. */
  giveOn(queue: KeyQueue, lease: LeaseHandle): Promise<void> | undefined {
    const { grant } = lease;
    const next = nextHere(queue);
    if (next === undefined || !mayPass(grant, next.call.options, this.parts.clock.now())) {
      return this.release(queue, grant, lease);
    }
    this.parts.turn.step(() => {
      if (!grant.ended) this.passOn(queue, grant, lease);
    });
    return undefined;
  }

  /** Time may have gone by since it was decided: everything is looked at again. */
  private passOn(queue: KeyQueue, grant: Grant, lease: LeaseHandle): void {
    const next = nextHere(queue);
    if (next !== undefined && mayPass(grant, next.call.options, this.parts.clock.now())) {
      start(this.parts, this.keeper, next, grant);
    } else void this.release(queue, grant, lease);
  }

  private release(queue: KeyQueue, grant: Grant, lease: LeaseHandle): Promise<void> {
    this.parts.watchdog.unwatch(grant);
    grant.ended = true;
    queue.grant = undefined;
    queue.releasing = grant.ownerToken;
    const first = nextHere(queue);
    const attempt = first === undefined ? undefined : this.asking.attempt(queue.line);
    const ttlMs = first?.call.options.ttlMs ?? queue.strictTtlMs;
    const release = {
      queue,
      grant,
      lease,
      sentAt: this.parts.clock.now(),
      attempt,
      ttlMs,
      block: Math.min(queue.line.size, MOST_NUMBERS),
    };
    return new Promise((resolve) => {
      const patience = new Patience(resolve);
      this.parts.lanes.add(patience, PATIENCE_MS);
      const settle = (): void => {
        this.parts.lanes.remove(patience);
        if (queue.releasing === grant.ownerToken) queue.releasing = undefined;
        this.changed(queue);
        resolve();
      };
      this.send(release).then(
        (answer) => {
          this.released(release, answer);
          settle();
        },
        (error: Error) => {
          this.failed(release, error);
          settle();
        },
      );
    });
  }

  private send({ queue, grant, attempt, ttlMs, block }: Release): Promise<ReleaseAnswer> {
    const { key } = queue;
    const { ownerToken } = grant;
    if (attempt !== undefined) {
      attempt.inFlight = true;
      attempt.ttlMs = ttlMs;
      return this.parts.store.release({ key, ownerToken, next: { ownerToken: attempt.ownerToken, ttlMs, block } });
    }
    if (queue.strict !== undefined && queue.strict.size > 0) {
      return this.parts.store.release({ key, ownerToken, grantOwn: { ttlMs, block: 1 } });
    }
    return this.parts.store.release({ key, ownerToken });
  }

  private released(release: Release, answer: ReleaseAnswer): void {
    const { queue, lease, attempt } = release;
    if (attempt !== undefined) attempt.inFlight = false;
    if (answer.outcome === 'lost' && !answer.resent) lease.lose('taken');
    if (answer.outcome === 'granted') return this.grantedNext(release, answer);
    if (attempt === undefined) return;
    if (attempt.over) return this.parts.dead.bury(queue.key, attempt.ownerToken, attempt.ttlMs);
    if (answer.outcome === 'queued') this.asking.queued(attempt, answer.remainingMs, false);
    else this.asking.ask(attempt);
  }

  private grantedNext(release: Release, answer: Extract<ReleaseAnswer, { outcome: 'granted' }>): void {
    const { queue, sentAt, ttlMs } = release;
    const { ownerToken, fencingToken, waiting } = answer;
    const attempt = release.attempt ?? queue.attemptOf(ownerToken);
    if (attempt === undefined) return this.parts.dead.bury(queue.key, ownerToken, ttlMs);
    const block = release.attempt === undefined ? 1 : release.block;
    this.asking.won(attempt, { ownerToken, ttlMs, sentAt, block, fencingToken, waiting });
  }

  private failed({ queue, grant, lease, attempt }: Release, error: Error): void {
    this.parts.dead.bury(queue.key, grant.ownerToken, grant.ttlMs, true);
    this.parts.events.emit({ type: 'release-failed', label: lease.call.label, error });
    if (attempt !== undefined) this.asking.failed(attempt, error);
  }
}
