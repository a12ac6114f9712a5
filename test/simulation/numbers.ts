import type { LockName } from '../../libs/distribute-lock/src/store/lock-store.js';
import { processOf } from '../../libs/distribute-lock/src/runtime/owner-token.js';
import type { Hold } from './hold.js';
import { shares } from './modes.js';
import type { World } from './world.js';

/** A grant of permits by the server. */
interface Permitted {
  readonly process: string | undefined;
  readonly at: number;
}

/** Watches fencing tokens: what a resource may rely on. */
export class Numbers {
  /** Under which owner token each was handed out first, or became that of readers. */
  private readonly owners = new Map<number, string>();
  private readonly highest = new Map<string, number>();
  private readonly highestOfWriters = new Map<string, number>();
  /** First numbers of grants of permits, and the process of each. */
  private readonly permitted = new Map<string, Map<number, Permitted>>();

  constructor(private readonly world: World) {}

  /**
   * None is used twice, but for readers that share a lease. They rise from grant to grant, unless the server lost its data under
   * one of them: a writer's above all before, a reader's above those of writers.
   */
  check(hold: Hold): void {
    const {
      lease: { fencingToken, key },
      ownerToken,
      question: { options },
    } = hold;
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
    const firsts = this.permitted.get(key) ?? new Map<number, Permitted>();
    this.permitted.set(key, firsts.set(first, { process: processOf(ownerToken), at: this.world.timeline.now }));
  }

  /**
   * Replies arrive in any order, so a grant of the server has its number. What a process hands over comes behind its own holders, and
   * behind all grants to other processes before the caller asked.
   */
  private checkPermit({ lease: { fencingToken, key }, ownerToken, question: { askedAt } }: Hold): void {
    const firsts = this.permitted.get(key) ?? new Map<number, Permitted>();
    const line = `${processOf(ownerToken)} ${key}`;
    const before = this.highest.get(line) ?? -1;
    this.highest.set(line, Math.max(before, fencingToken));
    if (firsts.has(fencingToken)) return;
    const others = [...firsts]
      .filter(([, { process, at }]) => process !== processOf(ownerToken) && at < askedAt)
      .map(([first]) => first);
    if (fencingToken <= Math.max(before, ...others)) this.world.fail('fencing tokens of permits do not rise', key);
  }
}
