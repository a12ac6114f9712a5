import type { Lease } from '../../../libs/distribute-lock/src/engine/lease/lease.js';
import type { QuorumProcess } from './quorum-process.js';

/** Larger than the difference between the rates of the clocks. */
export const CLOCKS_SHARE = 0.01;

interface Surroundings {
  readonly now: number;
  fail(what: string): void;
}

interface Hold {
  readonly process: QuorumProcess;
  readonly ttlMs: number;
  /** When it must have ended, because another holder was granted the lock. */
  overBy: number;
}

/** The holders that rely on their locks, and the rules for them. */
export class Holders {
  count = 0;
  private readonly held = new Map<Lease, Hold>();
  private readonly lastToken = new Map<string, number>();

  constructor(
    private readonly world: Surroundings,
    /** Nodes may forget their votes at any time: then two may hold a lock, but not for long. */
    private readonly forgetful: boolean,
  ) {}

  started(process: QuorumProcess, lease: Lease, ttlMs: number): void {
    this.count += 1;
    const { key, fencingToken } = lease;
    const rises = fencingToken > (this.lastToken.get(key) ?? -Infinity);
    // With two holders, the first one may hand the lock over locally with a reserved fencing token.
    if (!rises && !this.forgetful) this.world.fail('fencing tokens do not rise');
    this.lastToken.set(key, fencingToken);
    this.held.set(lease, { process, ttlMs, overBy: Infinity });
  }

  ended(lease: Lease): void {
    this.held.delete(lease);
  }

  /** Checks at every moment that at most one lease of a key is held. */
  check(): void {
    const believed = new Map<string, Lease>();
    for (const [lease, hold] of this.held) {
      if (hold.process.gone) this.held.delete(lease);
      else if (lease.isHeld()) {
        const other = believed.get(lease.key);
        if (other !== undefined) this.overlap(lease, other);
        believed.set(lease.key, lease);
        if (this.world.now > hold.overBy) this.world.fail('a holder was not notified of another holder');
      }
    }
  }

  private overlap(one: Lease, other: Lease): void {
    if (!this.forgetful) return this.world.fail('two valid holds');
    const first = this.held.get(one.fencingToken < other.fencingToken ? one : other)!;
    first.overBy = Math.min(first.overBy, this.world.now + first.ttlMs * (1 + CLOCKS_SHARE));
  }
}
