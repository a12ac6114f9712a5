/** How the rules use a server. In a Lua script these are local variables with the same names. */
export interface Settings {
  /** Whether PUBLISH returns the number of all receivers. In a Cluster it counts only the subscribers of this node. */
  readonly counted: boolean;
  /** Whether a message goes to a channel in the slot of the lock first, in a large Cluster. */
  readonly sharded: boolean;
  /**
   * Milliseconds after the last grant at which a counter of fencing tokens ends. Undefined: one counter serves all locks
   * of a prefix and never ends. In a Cluster every lock has a counter in its slot.
   */
  readonly fenceMs?: number;
}

export const ONE_PRIMARY: Settings = { counted: true, sharded: false };

export let counted = true;
export let sharded = false;
export let fenceMs: number | undefined;

/** Sets what the script of a server has as variables. */
export function useSettings(settings: Settings): void {
  counted = settings.counted;
  sharded = settings.sharded;
  fenceMs = settings.fenceMs;
}
