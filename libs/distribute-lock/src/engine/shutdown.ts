import type { Grant } from './lease/grant.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import { Deadline } from '../runtime/timers.js';
import type { EngineContext } from './context.js';
import { endsByItself, KeptHold } from './kept-leases.js';
import type { KeyState } from './key-state.js';
import type { KeyStates } from './key-states.js';

/** How long shutdown waits for releases that are in flight at the end. */
const LAST_RELEASES_MS = 500;

/** Calls that hold a lock at the start of a drain, or at its end. */
export interface DrainState {
  readonly held: readonly { readonly name: string; readonly heldMs: number }[];
  readonly over: boolean;
}

/** Receives the state at the start and at the end of a drain, if a lock is held. */
export type DrainReport = (state: DrainState) => void;

/** What follows when a key no longer stays held. */
export interface ShutdownListener {
  /** The grant has ended, and its token needs no undo. */
  grantEnded(state: KeyState, grant: Grant): void;
  /** Whether a lease of another process may still come to this one. */
  attaches(): boolean;
  /** The key of the lease may be released now. */
  leaseEnded(state: KeyState, lease: LeaseHandle): void;
}

/** Shutdown of the lock engine, and keys that stay held after their work. It never releases a lock whose work is still running. */
export class Shutdown {
  private readonly held = new Set<KeptHold>();
  private empty: (() => void) | undefined;
  private ending: Promise<void> | undefined;
  /** Number of commands without an answer that leave a key to its ttl. */
  private leaving = 0;

  constructor(
    private readonly context: EngineContext,
    private readonly states: KeyStates,
    private readonly listener: ShutdownListener,
  ) {}

  /** Keeps the key of an ended lease for as long as its plan requires, if it does. */
  keeps(state: KeyState, lease: LeaseHandle): boolean {
    if (lease.mayBeKept && endsByItself(lease)) return this.leaveToTtl(state, lease);
    const { grant, mayBeKept, plan, startedAt } = lease;
    const own = mayBeKept && plan.keepForMs > 0 ? startedAt + plan.keepForMs : -Infinity;
    const until = Math.max(own, grant.holder?.shared?.leftUntil ?? -Infinity);
    if (until === -Infinity) return false;
    const restMs = until - this.context.clock.now();
    if (restMs <= 0) return false;
    this.keep(state, lease, until, restMs);
    return true;
  }

  /** Separate, because V8 allocates the variables of a closure at the start of the function, so also for each release. */
  private keep(state: KeyState, lease: LeaseHandle, until: number, restMs: number): void {
    const held = new KeptHold(lease, until, () => {
      this.held.delete(held);
      this.context.kept.drop(lease.call);
      state.replace(lease.grant, held, undefined);
      if (!lease.grant.ended) this.listener.leaseEnded(state, lease);
    });
    state.replace(lease.grant, lease, held);
    this.held.add(held);
    if (this.ending !== undefined) this.leave(held);
    else {
      this.context.timers.add(held, restMs);
      this.context.watchdog.watch(lease.grant);
    }
  }

  /** Leaves the key to its ttl. Callers of this process ask the store again, like callers of other processes. */
  private leaveToTtl(state: KeyState, { grant, call }: LeaseHandle): true {
    this.context.watchdog.unwatch(grant);
    grant.ended = true;
    this.context.abandoned.leaveToTtl(grant.ownerToken, grant.ttlMs, () => this.context.kept.drop(call));
    this.listener.grantEnded(state, grant);
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
    for (const state of this.states.all()) for (const { holder } of state.grants()) holder?.shutDown();
    await this.quiet(LAST_RELEASES_MS);
    this.report(report, true);
  }

  private report(report: DrainReport, over: boolean): void {
    const now = this.context.clock.now();
    const holds = this.states.all().flatMap((state) => state.grants().flatMap(({ holder }) => holder?.holds ?? []));
    const held = holds.map(({ name, startedAt }) => ({ name, heldMs: Math.max(0, now - startedAt) }));
    if (held.length > 0) report({ held, over });
  }

  /** Checks whether the drain is complete, after the state of a key or an undo has ended. */
  look(): void {
    if (this.empty !== undefined && this.isQuiet()) this.empty();
  }

  private isQuiet(): boolean {
    const isEmpty = this.states.empty && this.context.abandoned.size === 0;
    return isEmpty && this.leaving === 0 && !this.listener.attaches();
  }

  private quiet(timeoutMs: number): Promise<void> {
    if (this.isQuiet()) return Promise.resolve();
    return new Promise((resolve) => {
      const deadline = new Deadline(() => this.empty?.());
      this.empty = () => {
        this.context.timers.remove(deadline);
        this.empty = undefined;
        resolve();
      };
      this.context.timers.add(deadline, timeoutMs);
    });
  }

  /**
   * The process exits before the end of `minHold`, so the remaining time becomes the ttl of the key. The drain waits for the
   * command, because a store that is closed before discards it.
   */
  private leave(held: KeptHold): void {
    this.held.delete(held);
    const { store, clock, timers, watchdog } = this.context;
    const { grant } = held.lease;
    const { key, ownerToken } = grant;
    const { shared } = grant.holder ?? {};
    const until = Math.max(held.renewUntil, shared?.leftUntil ?? -Infinity);
    const ttlMs = Math.max(1, Math.ceil(until - clock.now()));
    timers.remove(held);
    const state = this.states.ofToken(key, ownerToken);
    state?.replace(grant, held, undefined);
    const isHeld = state?.isHeld(grant) === true;
    if (shared !== undefined) shared.leftUntil = until;
    if (!isHeld) {
      watchdog.unwatch(grant);
      grant.ended = true;
      if (state !== undefined) this.listener.grantEnded(state, grant);
    }
    this.leaving += 1;
    const left = (): void => {
      this.leaving -= 1;
      this.look();
    };
    store.renew([{ key, ownerToken, kind: grant.kind, ttlMs, exact: !isHeld }]).then(left, left);
  }
}
