import { releaseAll } from './lease/joint-lease.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import type { Lease } from './lease/lease.js';
import type { LockCall } from './lease/lock-call.js';
import type { TokenKind } from '../runtime/owner-token.js';
import { whenAnswered, type AcquireAllAnswer, type LockStore } from '../store/lock-store.js';
import type { Attempt } from './attempt.js';
import type { LaneParts } from './lanes/lane.js';
import type { KeyQueue } from './key-queue.js';
import { Line } from './line.js';
import type { Registry } from './registry.js';
import { withdraw } from './settling.js';
import { Waiter, type WaiterKeeper } from './waiter.js';

/** What `AtOnce` needs of the queues of this process. */
export interface AtOnceWorld extends WaiterKeeper {
  readonly laneParts: LaneParts;
  readonly queues: Registry;
  waiting: number;
  queueOf(lane: TokenKind, key: string): KeyQueue;
  changed(queue: KeyQueue): void;
}

/** One of the locks is held or waited for, so no lock was taken. */
export class NotAtOnce extends Error {
  constructor(readonly remainingMs: number) {
    super('Not all of the locks are free.');
  }
}

/** Takes several exclusive locks by one command, all or none. Afterwards each lease is independent. */
export class AtOnce {
  constructor(
    private readonly world: AtOnceWorld,
    private readonly store: LockStore,
  ) {}

  /** Whether to try: not while this process has callers or grants for one of the keys. */
  mayTry(calls: readonly LockCall[]): boolean {
    const { kind } = calls[0].options;
    if (this.store.acquireAll === undefined || (kind !== 'exclusive' && kind !== 'write')) return false;
    const keys = calls.map(({ key }) => key);
    if (this.store.mayTakeAll?.(keys) === false) return false;
    return keys.every((key) => this.world.queues.find('exclusive', key) === undefined);
  }

  /**
   * Resolves with the leases, in the order of the calls.
   * @throws NotAtOnce when at least one of the locks is not free
   */
  async take(calls: readonly LockCall[]): Promise<Lease[]> {
    const attempts: Attempt[] = [];
    const leases = calls.map(
      (call) =>
        new Promise<LeaseHandle>((resolve, reject) => {
          attempts.push(this.attempt(call, resolve, reject));
        }),
    );
    this.send(attempts, calls[0]);
    const taken = await Promise.allSettled(leases);
    const refused = taken.find((each) => each.status === 'rejected');
    const held = taken.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    if (refused === undefined) return held;
    await releaseAll(held);
    throw refused.reason;
  }

  private attempt(call: LockCall, resolve: (lease: LeaseHandle) => void, reject: (error: Error) => void): Attempt {
    const { core, asking } = this.world.laneParts;
    // This attempt never waits, whatever the options of the call say.
    const impatient = { ...call, options: { ...call.options, waitMs: 0 } };
    const waiter = new Waiter(this.world, impatient, core.clock.now(), resolve, reject);
    const line = new Line(this.world.queueOf('exclusive', call.key), true);
    this.world.waiting += 1;
    core.kept.add(impatient);
    line.push(waiter);
    const attempt = asking.attempt(line);
    attempt.inFlight = true;
    attempt.ttlMs = call.options.ttlMs;
    return attempt;
  }

  private send(attempts: readonly Attempt[], { options: { ttlMs } }: LockCall): void {
    const sentAt = this.world.laneParts.core.clock.now();
    const requests = attempts.map(({ line: { queue }, ownerToken }) => ({
      key: queue.key,
      ownerToken,
      ttlMs,
      wait: false,
      block: 1,
    }));
    const { asking } = this.world.laneParts;
    whenAnswered(this.store.acquireAll!(requests), {
      answered: (answer) => attempts.forEach((attempt, i) => this.answered(attempt, answer, i, sentAt)),
      failed: (error) => attempts.forEach((attempt) => asking.failed(attempt, error)),
      late: () => attempts.forEach((attempt) => asking.late(attempt)),
    });
  }

  private answered(attempt: Attempt, answer: AcquireAllAnswer, index: number, sentAt: number): void {
    const { line, ownerToken, ttlMs } = attempt;
    const { core, asking } = this.world.laneParts;
    attempt.inFlight = false;
    if (answer.resent === true) asking.resent(attempt);
    if (answer.outcome === 'granted') {
      const fencingToken = answer.fencingTokens[index];
      asking.won(attempt, { ownerToken, ttlMs, sentAt, block: 1, fencingToken, waiting: 0 });
    } else {
      if (attempt.finalUndoAt > 0) asking.undo(attempt);
      if (!attempt.over) {
        line.queue.end(attempt);
        withdraw(core, line.first!, new NotAtOnce(answer.remainingMs));
      }
    }
    this.world.changed(line.queue);
  }
}
