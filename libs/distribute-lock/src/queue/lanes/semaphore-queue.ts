import type { FencingBlock, Grant } from '../../lease/grant.js';
import type { LeaseHandle } from '../../lease/lease-handle.js';
import { weightOf } from '../../runtime/owner-token.js';
import type { Attempt } from '../attempt.js';
import { KeyQueue } from '../key-queue.js';
import type { Line } from '../line.js';
import type { Waiter } from '../waiter.js';

/** Any number of grants, each with its weight and one holder at a time; never split, merged or resized. */
export class SemaphoreQueue extends KeyQueue {
  private readonly held = new Map<string, Grant>();
  private readonly ending = new Set<string>();
  /** Of the latest grant: its numbers are larger than those of all earlier grants. */
  private numbers: FencingBlock | undefined = undefined;

  get lane(): 'semaphore' {
    return 'semaphore';
  }

  override get idle(): boolean {
    return super.idle && this.ending.size === 0;
  }

  /** The first holder of the grant has its number. */
  add(grant: Grant): void {
    this.held.set(grant.ownerToken, grant);
    if (this.numbers === undefined || grant.numbers.isNewerThan(this.numbers)) this.numbers = grant.numbers;
    for (const each of this.held.values()) each.numbers = this.numbers;
  }

  grants(): readonly Grant[] {
    return [...this.held.values()];
  }

  grantOf(ownerToken: string): Grant | undefined {
    return this.held.get(ownerToken);
  }

  drop(grant: Grant): void {
    this.held.delete(grant.ownerToken);
  }

  suffix(first: Waiter | undefined): string {
    return `:${first?.call.options.weight ?? 1}`;
  }

  /**
   * Only the first in line, and only for the very permits that the lease has. While another process waits, the store serves both in
   * turn. While another process may hold permits, its numbers are not known here, so the store issues the next one.
   */
  heir({ call: { options } }: LeaseHandle, now: number): Waiter | undefined {
    const first = this.sharedLine?.first;
    if (first === undefined || !this.hasAll(options.permits, now)) return undefined;
    const { weight, permits } = first.call.options;
    return weight === options.weight && permits === options.permits ? first : undefined;
  }

  override get standing(): Attempt | undefined {
    const attempt = this.sharedLine?.attempt;
    return attempt?.seesHolder === true ? attempt : undefined;
  }

  /** This process holds every permit at `now`, and no other process is known to wait. */
  private hasAll(permits: number, now: number): boolean {
    let free = permits;
    for (const { ownerToken, validUntil, contended } of this.held.values()) {
      if (contended) return false;
      if (now < validUntil) free -= weightOf(ownerToken);
    }
    return free === 0;
  }

  /** Whether the line's attempt asks for as many permits as its first caller wants, of the same number: that they have in common. */
  fits(line: Line): boolean {
    return line.attempt === undefined || line.attempt.ownerToken.endsWith(this.suffix(line.first));
  }

  override releaseStarts(ownerToken: string): void {
    this.ending.add(ownerToken);
  }

  override releaseEnds(ownerToken: string): void {
    this.ending.delete(ownerToken);
  }

  override isReleasing(ownerToken: string): boolean {
    return this.ending.has(ownerToken);
  }
}
