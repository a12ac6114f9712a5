/** A grant from a command that was sent at `sentAt`, or from a message that arrived then. */
export interface Granted {
  readonly ownerToken: string;
  readonly ttlMs: number;
  readonly sentAt: number;
  readonly block: number;
  readonly fencingToken: number;
  readonly waiting: number;
  /** For an offer without a claim: the time until which the offer is guaranteed. */
  readonly offeredUntil?: number;
}
