import { processOf } from '../../libs/distribute-lock/src/runtime/owner-token.js';
import type { Hold } from './hold.js';
import type { World } from './world.js';

/** Watches the guarantees of fencing tokens. */
export class Numbers {
  /** The owner token under which each fencing token was granted first, or became that of readers. */
  private readonly owners = new Map<number, string>();
  private readonly highest = new Map<string, number>();
  private readonly highestOfWriters = new Map<string, number>();
  /** The permits of each key, in the order of their holds. */
  private readonly permits = new Map<string, readonly { readonly at: number; readonly fencingToken: number }[]>();

  constructor(private readonly world: World) {}

  /**
   * Only readers that share a lease may share a fencing token. Tokens rise from grant to grant, unless the server lost
   * its data in between. The token of a writer is larger than all before, that of a reader larger than those of
   * writers.
   */
  check(hold: Hold): void {
    const { lease, ownerToken, pendingCall } = hold;
    const { fencingToken, key } = lease;
    const { options } = pendingCall;
    const { server } = this.world;
    const reads = options.kind === 'read';
    const owner = this.owners.get(fencingToken);
    this.owners.set(fencingToken, ownerToken);
    if (owner !== undefined) {
      const shared = reads && (owner === ownerToken || server.readTokens.get(owner) === ownerToken);
      if (!shared) this.world.fail('a fencing token was used twice', String(fencingToken));
      return;
    }
    if (server.forgotten.has(ownerToken)) return;
    if (this.world.ledger.shares(pendingCall) && !reads) return this.checkPermit(hold);
    const bound = reads ? this.highestOfWriters : this.highest;
    if (fencingToken <= (bound.get(key) ?? -1)) this.world.fail('fencing tokens do not rise', key);
    this.highest.set(key, Math.max(fencingToken, this.highest.get(key) ?? -1));
    if (!reads) this.highestOfWriters.set(key, fencingToken);
  }

  /**
   * The token of a permit is larger than the earlier tokens of its process, and than the tokens of all holds that began before the call.
   * A process that counts a permit whose data the server lost is exempt. So are processes that know different numbers of permits.
   */
  private checkPermit(hold: Hold): void {
    const { lease, ownerToken, pendingCall } = hold;
    const { fencingToken, key } = lease;
    const line = `${processOf(ownerToken)} ${key}`;
    const before = this.highest.get(line) ?? -1;
    this.highest.set(line, Math.max(before, fencingToken));
    const earlier = this.permits.get(key) ?? [];
    const seen = earlier.filter(({ at }) => at < pendingCall.calledAt).map((permit) => permit.fencingToken);
    this.permits.set(key, [...earlier, { at: this.world.timeline.now, fencingToken }]);
    if (this.world.ledger.countsForgotten(hold) || this.world.ledger.isMixed(key)) return;
    if (fencingToken <= Math.max(before, ...seen)) this.world.fail('fencing tokens of permits do not rise', key);
  }
}
