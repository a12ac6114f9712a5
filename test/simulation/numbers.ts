import type { Hold } from './hold.js';
import { shares } from './modes.js';
import type { World } from './world.js';

/** Watches fencing tokens: what a resource may rely on. */
export class Numbers {
  /** Under which owner token each was handed out first, or became that of readers. */
  private readonly owners = new Map<number, string>();
  private readonly highest = new Map<string, number>();
  private readonly highestOfWriters = new Map<string, number>();

  constructor(private readonly world: World) {}

  /**
   * None is used twice, but for readers that share a lease. They rise from grant to grant, unless the server lost its data under
   * one of them: a writer's above all before, a reader's above those of writers.
   */
  check({ lease: { fencingToken, key }, ownerToken, question: { options } }: Hold): void {
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
    // Those who hold together learn of their numbers in any order.
    if (shares(options) && !reads) return;
    const bound = reads ? this.highestOfWriters : this.highest;
    if (fencingToken <= (bound.get(key) ?? -1)) this.world.fail('fencing tokens do not rise', key);
    this.highest.set(key, Math.max(fencingToken, this.highest.get(key) ?? -1));
    if (!reads) this.highestOfWriters.set(key, fencingToken);
  }
}
