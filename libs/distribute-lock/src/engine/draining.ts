import type { Grant } from './lease/grant.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import { Timer } from '../runtime/timers.js';
import type { CoreParts } from './core-parts.js';
import type { KeyQueue } from './key-queue.js';
import { endsByItself, keptMs, MinHold } from './min-hold.js';
import type { Registry } from './registry.js';

/** How long shutdown waits for releases that are in flight at the end. */
const LAST_WORDS_MS = 500;

/** Calls that hold a lock at the start of a drain, or at its end. */
export interface DrainState {
  readonly held: readonly { readonly name: string; readonly heldMs: number }[];
  readonly over: boolean;
}

/** Receives the state at the start and at the end of a drain, if a lock is held. */
export type DrainReport = (state: DrainState) => void;

class Deadline extends Timer {
  constructor(readonly due: () => void) {
    super();
  }

  override forgotten(): void {
    this.due();
  }
}

/** Shutdown of the lock core. It never releases a lock whose work is still running. */
export class Draining {
  private readonly held = new Set<MinHold>();
  private empty: (() => void) | undefined;
  private ending: Promise<void> | undefined;

  constructor(
    private readonly parts: CoreParts,
    private readonly queues: Registry,
    /** The grant has ended, and its token needs no undo. */
    private readonly gone: (queue: KeyQueue, grant: Grant) => void,
  ) {}

  /**
   * Keeps the key of an ended lease for as long as its options require. Then `over` releases it, unless the key expires with its
   * ttl.
   */
  keeps(queue: KeyQueue, lease: LeaseHandle, over: () => void): boolean {
    if (endsByItself(lease)) return this.leaveToTtl(queue, lease);
    const forMs = keptMs(lease);
    if (forMs === 0) return false;
    const until = lease.startedAt + forMs;
    const restMs = until - this.parts.clock.now();
    if (restMs <= 0) return false;
    const held = new MinHold(lease, until, () => {
      this.held.delete(held);
      this.parts.kept.drop(lease.call);
      queue.replace(lease.grant, held, undefined);
      if (!lease.grant.ended) over();
    });
    queue.replace(lease.grant, lease, held);
    this.held.add(held);
    if (this.ending !== undefined) this.leave(held);
    else {
      this.parts.timers.add(held, restMs);
      this.parts.watchdog.watch(lease.grant);
    }
    return true;
  }

  /** Leaves the key to its ttl. Callers of this process ask the store again, like callers of other processes. */
  private leaveToTtl(queue: KeyQueue, { grant, call }: LeaseHandle): true {
    this.parts.watchdog.unwatch(grant);
    grant.ended = true;
    this.parts.abandoned.leaveToTtl(grant.ownerToken, grant.ttlMs, () => this.parts.kept.drop(call));
    this.gone(queue, grant);
    return true;
  }

  /** Waits for holders, then ends leases from `acquire()`. Work that is still running keeps its lease. */
  drain(timeoutMs: number, report: DrainReport): Promise<void> {
    return (this.ending ??= this.end(timeoutMs, report));
  }

  private async end(timeoutMs: number, report: DrainReport): Promise<void> {
    for (const held of this.held) this.leave(held);
    this.report(report, false);
    await this.quiet(timeoutMs);
    for (const queue of this.queues.all()) for (const { holder } of queue.grants()) holder?.shutDown();
    await this.quiet(LAST_WORDS_MS);
    this.report(report, true);
  }

  private report(report: DrainReport, over: boolean): void {
    const now = this.parts.clock.now();
    const holds = this.queues.all().flatMap((queue) => queue.grants().flatMap(({ holder }) => holder?.holds ?? []));
    const held = holds.map(({ name, startedAt }) => ({ name, heldMs: Math.max(0, now - startedAt) }));
    if (held.length > 0) report({ held, over });
  }

  /** Checks whether the drain is complete, after a queue or an undo has ended. */
  look(): void {
    if (this.empty !== undefined && this.isQuiet()) this.empty();
  }

  private isQuiet(): boolean {
    return this.queues.empty && this.parts.abandoned.size === 0;
  }

  private quiet(timeoutMs: number): Promise<void> {
    if (this.isQuiet()) return Promise.resolve();
    return new Promise((resolve) => {
      const deadline = new Deadline(() => this.empty?.());
      this.empty = () => {
        this.parts.timers.remove(deadline);
        this.empty = undefined;
        resolve();
      };
      this.parts.timers.add(deadline, timeoutMs);
    });
  }

  /** The process exits before the end of `minHold`, so the remaining time becomes the ttl of the key. */
  private leave(held: MinHold): void {
    this.held.delete(held);
    const { store, clock, timers, watchdog } = this.parts;
    const { grant } = held.lease;
    const { key, ownerToken } = grant;
    const ttlMs = Math.max(1, Math.ceil(held.renewUntil - clock.now()));
    timers.remove(held);
    const queue = this.queues.ofToken(key, ownerToken);
    queue?.replace(grant, held, undefined);
    if (queue?.isHeld(grant) !== true) {
      watchdog.unwatch(grant);
      grant.ended = true;
      if (queue !== undefined) this.gone(queue, grant);
    }
    void store
      .renew([{ key, ownerToken, kind: queue?.lane, ttlMs, exact: queue?.isHeld(grant) !== true }])
      .catch(() => undefined);
  }
}
