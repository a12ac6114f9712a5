/** What a command that was sent at `sentAt` brought, or a message that came then. */
export interface Granted {
  readonly ownerToken: string;
  readonly ttlMs: number;
  readonly sentAt: number;
  readonly block: number;
  readonly fencingToken: number;
  readonly waiting: number;
  /** It is an offer that stands until then, and was not claimed. */
  readonly offeredUntil?: number;
}
