import { processOf } from '../../libs/distribute-lock/src/runtime/owner-token.js';
import type { LockName, ReleaseRequest } from '../../libs/distribute-lock/src/store/lock-store.js';
import { READERS } from '../../libs/distribute-lock/src/store/lock-value.js';
import { isReadToken } from '../../libs/distribute-lock/src/store/protocol/host.js';
import { isCalm } from './plan.js';
import type { SimulatedLocks } from './simulated-locks.js';
import type { World } from './world.js';

interface Sight {
  readonly owner: string | undefined;
  readonly leftMs: number;
  readonly leases: ReadonlyMap<string, number>;
  readonly queue: readonly string[];
}

/** Watches rules that hold for every command of a lock and every sender. */
export class ReadWriteWatch {
  private readonly calm: boolean;

  constructor(
    private readonly world: World,
    private readonly locks: SimulatedLocks,
  ) {
    this.calm = isCalm(world.plan);
  }

  /** Compares the lock before and after the command. `own`: the tokens that the command may change. */
  during<T>({ key, ownerToken }: LockName, own: readonly (string | undefined)[], command: () => T): T {
    const before = this.look(key);
    const answer = command();
    const after = this.look(key);
    const whose = `${ownerToken} of ${before.owner}`;
    this.checkHolder(ownerToken, before, after, whose);
    this.checkTurn(before, after, whose);
    this.checkAllReaders(before, after, whose);
    if (before.owner !== READERS && after.owner !== READERS) return answer;
    const owners = [ownerToken, ...own];
    this.checkLeases(owners, before, after, whose);
    this.checkNewcomers(owners, before, after, whose);
    this.checkEnd(after);
    this.checkGate(key, after, whose);
    return answer;
  }

  /** A renewal tells a reader whether a writer waits. */
  checkRenewal({ key, ownerToken }: LockName, answer: unknown): void {
    if (typeof answer !== 'number' || this.locks.owner(key) !== READERS) return;
    if (answer > 0 !== this.locks.isGateClosed(key)) {
      this.world.fail('a renewal does not report the gate', ownerToken);
    }
  }

  /** Only a command of the holder may change the lock. */
  private checkHolder(ownerToken: string, before: Sight, after: Sight, whose: string): void {
    const { owner } = before;
    if (owner === undefined || owner === READERS || owner === ownerToken) return;
    if (owner === after.owner && before.leftMs === after.leftMs) return;
    this.world.fail('a command changed the lock of another holder', whose);
  }

  /** After a writer, all waiting readers that can be notified get the lock. */
  private checkTurn(before: Sight, after: Sight, whose: string): void {
    const { owner } = after;
    const wrote = processOf(before.owner ?? '') !== undefined;
    if (!this.calm || !wrote || owner === undefined || owner === before.owner || owner === READERS) return;
    const { inboxes } = this.world.server;
    const reader = before.queue.find((token) => isReadToken(token) && inboxes.has(processOf(token) ?? ''));
    if (reader !== undefined)
      this.world.fail('a waiting reader was overtaken by a second writer', `${whose}: ${reader}`);
  }

  /** When readers get the lock, no waiting reader stays in the queue. */
  private checkAllReaders(before: Sight, after: Sight, whose: string): void {
    if (after.owner !== READERS || before.owner === READERS) return;
    const reader = before.queue.find((token) => isReadToken(token) && after.queue.includes(token));
    if (reader !== undefined) this.world.fail('a waiting reader was left behind by the others', `${whose}: ${reader}`);
  }

  /** The leases of other readers must not change. */
  private checkLeases(own: readonly (string | undefined)[], before: Sight, after: Sight, whose: string): void {
    for (const [reader, endsAt] of before.leases) {
      if (own.includes(reader) || after.leases.get(reader) === endsAt) continue;
      this.world.fail('a command changed the lease of another reader', `${whose}, that of ${reader}`);
    }
  }

  /** No reader enters while a writer waits, and no reader gets a lease without an attempt. */
  private checkNewcomers(own: readonly (string | undefined)[], before: Sight, after: Sight, whose: string): void {
    const writerWaits = before.queue.some((token) => !isReadToken(token) && after.queue.includes(token));
    for (const reader of after.leases.keys()) {
      if (before.leases.has(reader)) continue;
      if (!own.includes(reader) && !before.queue.includes(reader)) {
        this.world.fail('an ended lease was restored', `${whose}: ${reader}`);
      }
      if (this.calm && writerWaits && before.leases.size > 0) {
        this.world.fail('a reader overtook a waiting writer', `${whose}: ${reader}`);
      }
    }
  }

  private checkEnd({ owner, leftMs, leases }: Sight): void {
    if (owner !== READERS) return;
    // In its last millisecond the lock has no valid lease.
    const last = leases.size === 0 ? 0 : Math.max(...leases.values()) - this.now();
    if (Math.abs(leftMs - last) > 1)
      this.world.fail('the lock does not end with its last reader', `${leftMs}, ${last}`);
  }

  /** The gate opens when the last waiting writer leaves. */
  private checkGate(key: string, { owner, queue }: Sight, whose: string): void {
    if (owner === READERS && queue.every(isReadToken) && this.locks.isGateClosed(key)) {
      this.world.fail('the gate is closed although no writer waits', whose);
    }
  }

  private now(): number {
    return this.world.server.now();
  }

  private look(key: string): Sight {
    return {
      owner: this.locks.owner(key),
      leftMs: this.locks.leftMs(key),
      leases: this.locks.readers(key),
      queue: this.locks.queued(key),
    };
  }
}

/** The token of the next attempt of the process. */
export const nextOf = ({ next }: ReleaseRequest): string | undefined => next?.ownerToken;
