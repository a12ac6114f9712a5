/** Fencing tokens in the order of the requests; or nothing was written, and one that is not free ends in `remainingMs` (-1: unknown). @public */
export type AcquireAllAnswer =
  | {
      readonly outcome: 'granted';
      readonly fencingTokens: readonly number[];
      /** The command may have been sent on two connections, so the store may execute it once more. */
      readonly resent?: boolean;
    }
  | {
      readonly outcome: 'busy';
      readonly remainingMs: number;
      /** The command may have been applied before, and some of them stand under their token since: they must be released. */
      readonly resent?: boolean;
    };
