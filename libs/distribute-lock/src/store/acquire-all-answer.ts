/**
 * `granted`: fencing tokens in the order of the requests. `busy`: nothing was written, and the lease of a lock that is
 * not free ends in `remainingMs` (-1: unknown). @public
 */
export type AcquireAllAnswer =
  | {
      readonly outcome: 'granted';
      readonly fencingTokens: readonly number[];
      /** The command may have been sent on two connections, so the store may execute it twice. */
      readonly resent?: boolean;
    }
  | {
      readonly outcome: 'busy';
      readonly remainingMs: number;
      /**
       * The command may have been executed before. Some of the locks may then carry their token and must be released.
       */
      readonly resent?: boolean;
    };
