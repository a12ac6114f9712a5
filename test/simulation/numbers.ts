import type { LockName } from '../../libs/distribute-lock/src/store/lock-store.js';
import { processOf } from '../../libs/distribute-lock/src/runtime/owner-token.js';
import type { Hold } from './hold.js';
import { shares } from './modes.js';
import type { World } from './world.js';

/** Grants of permits by the server. */
class Permitted {
  /** Every fencing token that the server sent. */
  readonly sent = new Set<number>();
  /** By owner token. After a lost offer the owner asks again and gets another fencing token; this is the first one. */
  readonly grants = new Map<string, number>();

  add(ownerToken: string, first: number): void {
    this.sent.add(first);
    if (!this.grants.has(ownerToken)) this.grants.set(ownerToken, first);
  }

  highestOfOthers(process: string | undefined): number {
    const others = [...this.grants].filter(([ownerToken]) => processOf(ownerToken) !== process);
    return Math.max(-1, ...others.map(([, first]) => first));
  }
}

/** Watches the guarantees of fencing tokens. */
export class Numbers {
  /** The owner token under which each fencing token was granted first, or became that of readers. */
  private readonly owners = new Map<number, string>();
  private readonly highest = new Map<string, number>();
  private readonly highestOfWriters = new Map<string, number>();
  private readonly permitted = new Map<string, Permitted>();

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
    if (shares(options) && !reads) return this.checkPermit(hold);
    const bound = reads ? this.highestOfWriters : this.highest;
    if (fencingToken <= (bound.get(key) ?? -1)) this.world.fail('fencing tokens do not rise', key);
    this.highest.set(key, Math.max(fencingToken, this.highest.get(key) ?? -1));
    if (!reads) this.highestOfWriters.set(key, fencingToken);
  }

  permit({ key, ownerToken }: LockName, first: number): void {
    const permitted = this.permitted.get(key) ?? new Permitted();
    permitted.add(ownerToken, first);
    this.permitted.set(key, permitted);
  }

  /**
   * Replies arrive in any order, so a grant of the server must have the token that the server issued. A local hand-over
   * must have a larger token than all earlier holders of its process, and than all earlier grants to other processes. A process
   * that counts a permit whose data the server lost is exempt.
   */
  private checkPermit(hold: Hold): void {
    const { lease, ownerToken } = hold;
    const { fencingToken, key } = lease;
    const permitted = this.permitted.get(key) ?? new Permitted();
    const process = processOf(ownerToken);
    const line = `${process} ${key}`;
    const before = this.highest.get(line) ?? -1;
    this.highest.set(line, Math.max(before, fencingToken));
    if (permitted.sent.has(fencingToken) || this.world.ledger.countsForgotten(hold)) return;
    if (fencingToken <= Math.max(before, permitted.highestOfOthers(process)))
      this.world.fail('fencing tokens of permits do not rise', key);
  }
}
