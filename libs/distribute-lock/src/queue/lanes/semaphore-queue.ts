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
  /** Places of the process besides that of its shared line. */
  private readonly extras = new Map<string, Attempt>();
  /** The store said with the latest grant that this process holds every permit, and none was given back since. */
  private hasEvery = false;
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
    this.hasEvery = grant.hasAll;
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
    this.hasEvery = false;
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
    if (attempt?.seesHolder === true) return attempt;
    for (const extra of this.extras.values()) if (extra.seesHolder) return extra;
    return undefined;
  }

  /**
   * Each release that gives a permit back asks for the next one by the same command. With one place, a process would get one permit in
   * each round trip.
   */
  override get wantsExtra(): boolean {
    const line = this.sharedLine;
    if (line?.first === undefined || line.attempt === undefined) return false;
    const { permits, weight } = line.first.call.options;
    return this.extras.size + 1 < Math.min(line.size, Math.floor(permits / weight));
  }

  /** The oldest of the other places is that of the shared line, which has none any more. */
  promote(): void {
    const line = this.sharedLine;
    const [extra] = this.extras.values();
    if (line === undefined || line.attempt !== undefined || extra === undefined) return;
    this.extras.delete(extra.ownerToken);
    line.attempt = extra;
  }

  override addExtra(attempt: Attempt): void {
    this.extras.set(attempt.ownerToken, attempt);
  }

  override attemptOf(ownerToken: string): Attempt | undefined {
    return this.extras.get(ownerToken) ?? super.attemptOf(ownerToken);
  }

  override attempts(): Attempt[] {
    return [...super.attempts(), ...this.extras.values()];
  }

  override get asks(): boolean {
    return super.asks || this.extras.size > 0;
  }

  override end(attempt: Attempt): void {
    if (this.extras.delete(attempt.ownerToken)) attempt.over = true;
    else super.end(attempt);
  }

  /** The attempts that no caller of the line needs: there are more than callers, or the next caller wants other permits. */
  surplus(line: Line): Attempt[] {
    const all = [...(line.attempt === undefined ? [] : [line.attempt]), ...(line.single ? [] : this.extras.values())];
    if (line.first === undefined) return all;
    const fitting = all.filter((attempt) => this.fits(line, attempt));
    return all.filter((attempt) => !fitting.slice(0, line.size).includes(attempt));
  }

  /** This process holds every permit at `now`, and no other process is known to wait. */
  private hasAll(permits: number, now: number): boolean {
    if (!this.hasEvery) return false;
    let free = permits;
    for (const { ownerToken, validUntil, contended } of this.held.values()) {
      if (contended) return false;
      if (now < validUntil) free -= weightOf(ownerToken);
    }
    return free === 0;
  }

  /** Whether the attempt asks for as many permits as the first caller of its line wants, of the same number: that they have in common. */
  private fits(line: Line, attempt: Attempt): boolean {
    return attempt.ownerToken.endsWith(this.suffix(line.first));
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
