import type { Grant } from '../../lease/grant.js';
import type { LeaseHandle } from '../../lease/lease-handle.js';
import { KeyQueue } from '../key-queue.js';
import type { Line } from '../line.js';
import type { Waiter } from '../waiter.js';

/** Any number of grants, each with its weight and one holder at a time; never split, merged or resized. */
export class SemaphoreQueue extends KeyQueue {
  private readonly held = new Map<string, Grant>();
  private readonly ending = new Set<string>();

  get lane(): 'semaphore' {
    return 'semaphore';
  }

  override get idle(): boolean {
    return super.idle && this.ending.size === 0;
  }

  add(grant: Grant): void {
    this.held.set(grant.ownerToken, grant);
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

  /** Only the first in line, and only for the very permits that the lease has. */
  heir({ call: { options } }: LeaseHandle): Waiter | undefined {
    const first = this.sharedLine?.first;
    if (first === undefined) return undefined;
    const { weight, permits } = first.call.options;
    return weight === options.weight && permits === options.permits ? first : undefined;
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
