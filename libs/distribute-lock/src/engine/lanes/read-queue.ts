import type { Grant } from '../lease/grant.js';
import type { Holder } from '../lease/holder.js';
import { KeyQueue } from '../key-queue.js';
import type { Line } from '../line.js';
import { type Reader, Readers } from './readers.js';
import type { Refresh } from './refresh.js';

/** One grant, shared by all readers of this process. */
export class ReadQueue extends KeyQueue {
  grant: Grant | undefined = undefined;
  /** The fencing token that all readers share. */
  fencingToken = 0;
  /** Number of messages that a writer waits: an answer to an older command must not admit readers. */
  warnings = 0;
  refresh: Refresh | undefined = undefined;

  /** Tokens of a release or downgrade in flight: messages about them are outdated or premature. */
  private readonly unsettled = new Set<string>();

  get lane(): 'read' {
    return 'read';
  }

  grants(): readonly Grant[] {
    return this.grant === undefined ? [] : [this.grant];
  }

  grantOf(ownerToken: string): Grant | undefined {
    return this.grant?.ownerToken === ownerToken ? this.grant : undefined;
  }

  drop(grant: Grant): void {
    if (this.grant === grant) this.grant = undefined;
  }

  override replace(grant: Grant, from: Holder, by: Holder | undefined): void {
    if (!(grant.holder instanceof Readers)) return;
    grant.holder.remove(from);
    if (by !== undefined) grant.holder.add(by as Reader);
  }

  override isHeld(grant: Grant): boolean {
    return grant.holder instanceof Readers && grant.holder.size > 0;
  }

  /** The longest ttl of the waiters, because they will share the lease. */
  override ttlMsOf(line: Line): number {
    let longest = 0;
    for (let waiter = line.first; waiter !== undefined; waiter = waiter.behind) {
      longest = Math.max(longest, waiter.call.options.ttlMs);
    }
    return longest;
  }

  suffix(): string {
    return ':r';
  }

  /** Readers need no local hand-over: they enter the shared lease. */
  heir(): undefined {
    return undefined;
  }

  override get idle(): boolean {
    return super.idle && this.unsettled.size === 0;
  }

  override releaseStarts(ownerToken: string): void {
    this.unsettled.add(ownerToken);
  }

  override releaseEnds(ownerToken: string): void {
    this.unsettled.delete(ownerToken);
  }

  override isReleasing(ownerToken: string): boolean {
    return this.unsettled.has(ownerToken);
  }
}
