import type { Grant } from '../../lease/grant.js';
import type { Holder } from '../../lease/holder.js';
import { KeyQueue } from '../key-queue.js';
import type { Line } from '../line.js';
import { type Reader, Readers } from './readers.js';
import type { Refresh } from './refresh.js';

/** One grant, shared by all readers of this process. */
export class ReadQueue extends KeyQueue {
  grant: Grant | undefined = undefined;
  /** The number that its readers share. */
  fencingToken = 0;
  /** How often it was said that a writer waits: an answer to an older question does not open the gate. */
  warnings = 0;
  refresh: Refresh | undefined = undefined;

  /** Tokens that are being given back, or that a downgrade is about to bring: messages about them come too late or too early. */
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

  /** As long as the most patient of them needs, for they will share it. */
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

  /** Readers do not pass a lease on: they enter it. */
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
