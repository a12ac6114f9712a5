import type { LeaseHandle } from '../lease/lease-handle.js';
import { Timed } from '../runtime/timer-lanes.js';
import type { CoreParts } from './core-parts.js';
import type { KeyQueue } from './key-queue.js';
import { MinHold } from './min-hold.js';
import type { Registry } from './registry.js';

/** How long releases that are under way at the end may still take. */
const LAST_WORDS_MS = 500;

class Deadline extends Timed {
  constructor(readonly due: () => void) {
    super();
  }
}

/** Shutdown of the lock core: a lock whose work still runs is never given away. */
export class Draining {
  private readonly held = new Set<MinHold>();
  private empty: (() => void) | undefined;
  private started = false;

  constructor(
    private readonly parts: CoreParts,
    private readonly queues: Registry,
    private readonly changed: (queue: KeyQueue) => void,
  ) {}

  /** Keeps the grant of an ended lease until its `minHold`; `over` gives it back then. */
  keeps(queue: KeyQueue, lease: LeaseHandle, over: () => void): boolean {
    const { minHoldMs } = lease.call.options;
    if (minHoldMs === 0) return false;
    const until = lease.startedAt + minHoldMs;
    const restMs = until - this.parts.clock.now();
    if (restMs <= 0) return false;
    const held = new MinHold(lease, until, () => {
      this.held.delete(held);
      queue.replace(lease.grant, held, undefined);
      if (!lease.grant.ended) over();
    });
    queue.replace(lease.grant, lease, held);
    this.held.add(held);
    if (this.started) this.leave(held);
    else {
      this.parts.lanes.add(held, restMs);
      this.parts.watchdog.watch(lease.grant);
    }
    return true;
  }

  /** Waits for holders, then takes the leases from `acquire()` away; work that still runs keeps its lease. */
  async drain(timeoutMs: number): Promise<void> {
    this.started = true;
    for (const held of this.held) this.leave(held);
    await this.quiet(timeoutMs);
    for (const queue of this.queues.all()) for (const { holder } of queue.grants()) holder?.shutDown();
    await this.quiet(LAST_WORDS_MS);
  }

  /** Something ended. */
  look(): void {
    if (this.empty !== undefined && this.isQuiet()) this.empty();
  }

  private isQuiet(): boolean {
    return this.queues.empty && this.parts.dead.size === 0;
  }

  private quiet(timeoutMs: number): Promise<void> {
    if (this.isQuiet()) return Promise.resolve();
    return new Promise((resolve) => {
      const deadline = new Deadline(() => this.empty?.());
      this.empty = () => {
        this.parts.lanes.remove(deadline);
        this.empty = undefined;
        resolve();
      };
      this.parts.lanes.add(deadline, timeoutMs);
    });
  }

  /** The process will not be there at the end of `minHold`: the rest is left to the ttl. */
  private leave(held: MinHold): void {
    this.held.delete(held);
    const { store, clock, lanes, watchdog } = this.parts;
    const { grant } = held.lease;
    const { key, ownerToken } = grant;
    const ttlMs = Math.max(1, Math.ceil(held.renewUntil - clock.now()));
    lanes.remove(held);
    const queue = this.queues.ofToken(key, ownerToken);
    queue?.replace(grant, held, undefined);
    if (queue?.isHeld(grant) !== true) {
      watchdog.unwatch(grant);
      grant.ended = true;
      queue?.drop(grant);
    }
    if (queue !== undefined) this.changed(queue);
    void store.renew([{ key, ownerToken, kind: queue?.lane, ttlMs }]).catch(() => undefined);
  }
}
