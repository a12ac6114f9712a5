import type { AcquireOptions } from '../../libs/distribute-lock/src/options/lock-options.js';

/** Lock options of one call as the history records them. */
export type RecordedOptions = Omit<AcquireOptions, 'signal'>;

/** The method of `Locks` of an operation. */
export type CallName = 'acquire' | 'tryAcquire' | 'withLock' | 'attach' | 'cancel';

interface OfOperation {
  /** Unique in its history: `<process>/<caller>.<number>`. */
  readonly op: string;
}

/**
 * An event of one process. Every `at` is in milliseconds of the monotonic clock that all processes of the machine
 * share.
 */
export type WorkerEvent = { readonly at: number } & (
  | ({
      readonly type: 'ask';
      readonly call: CallName;
      readonly keys: readonly string[];
      readonly options: RecordedOptions;
      /** The operation in whose work this call is made. */
      readonly inside?: string;
      /** A call after all faults: the lock is free and must be granted. */
      readonly probe?: true;
      /** Of `attach` and `cancel`: the operation that detached the lease. */
      readonly ticket?: string;
      /** One key of a call for several keys. It is recorded as a separate operation, because its lease is separate. */
      readonly part?: true;
    } & OfOperation)
  | ({ readonly type: 'abort' } & OfOperation)
  | ({
      readonly type: 'granted';
      readonly tokens: Readonly<Record<string, number>>;
      /** When the command of the grant was sent, for each key. */
      readonly sentAt: Readonly<Record<string, number>>;
      /** How many leases the grant has served, this one included, for each key. */
      readonly leases: Readonly<Record<string, number>>;
      /** The lease is proven until then. */
      readonly until: number;
    } & OfOperation)
  | ({ readonly type: 'refused'; readonly code: string; readonly message: string } & OfOperation)
  /** A sample: the lease is held, and is now proven until then. */
  | ({ readonly type: 'proven'; readonly until: number } & OfOperation)
  /** Whether the server has the lock, since it has lost it once. Only a simulation sees that. */
  | ({ readonly type: 'on-server'; readonly has: boolean } & OfOperation)
  /** The signal of the lease aborted. */
  | ({
      readonly type: 'lost';
      readonly code: string;
      /** Of a `LeaseLostError`. */
      readonly reason?: string;
      readonly message: string;
    } & OfOperation)
  /** A multi-key call lost a key that it kept while it waited for another one. */
  | ({ readonly type: 'lost-waiting' } & OfOperation)
  /** `isHeld()` returned false. */
  | ({ readonly type: 'not-held' } & OfOperation)
  | ({ readonly type: 'extend'; readonly ttlMs: number } & OfOperation)
  | ({ readonly type: 'extended'; readonly code: string } & OfOperation)
  | ({ readonly type: 'downgrade' } & OfOperation)
  | ({ readonly type: 'downgraded'; readonly code: string } & OfOperation)
  /** The call of `detach()` ends the hold here. No process renews the lease until a call attaches it. */
  | ({ readonly type: 'detach'; readonly ttlMs: number; readonly held: boolean } & OfOperation)
  | ({ readonly type: 'detached'; readonly code: string } & OfOperation)
  /** Whether the ticket of a call of `cancel()` still held the lock. */
  | ({ readonly type: 'cancelled'; readonly cancelled: boolean } & OfOperation)
  /** The reply of the protected resource to a write. */
  | ({
      readonly type: 'write';
      readonly key: string;
      readonly token: number;
      readonly from: number;
      readonly accepted: boolean;
      /** Its position among the accepted writes of the key. */
      readonly version: number;
      /** The version that the holder had read before. */
      readonly seen: number;
    } & OfOperation)
  | ({ readonly type: 'release'; readonly held: boolean } & OfOperation)
  | ({ readonly type: 'released' } & OfOperation)
  /** From now on the event loop does not turn for so many milliseconds. */
  | ({ readonly type: 'blocks'; readonly ms: number } & OfOperation)
  /** How `withLock` settled. */
  | ({ readonly type: 'ended'; readonly code: string; readonly message?: string } & OfOperation)
  /** The event loop did not turn since `from`. */
  | { readonly type: 'standstill'; readonly from: number }
  | { readonly type: 'shutdown'; readonly withinMs?: number }
  | { readonly type: 'closed' }
  /** An error or a warning outside of every promise. */
  | { readonly type: 'stray'; readonly message: string }
);

/** Actions of the run on processes, network and server, and observations of the server. */
export type RunEvent = { readonly at: number } & (
  | {
      readonly type: 'started';
      readonly of: string;
      /** The process cannot receive messages. */
      readonly polls?: true;
    }
  | { readonly type: 'killed'; readonly of: string }
  | { readonly type: 'exited'; readonly of: string; readonly byItself: boolean }
  /** A fault that started at `from` and ended at `at`. */
  | {
      readonly type: 'fault';
      readonly name: string;
      readonly from: number;
      /** The affected process or network of a process; absent for faults of the server. */
      readonly of?: string;
      /** Whether no command of that process reached the server. */
      readonly cutOff: boolean;
    }
  /** The server lost all locks, or one lock, at a time between `from` and `at`. */
  | { readonly type: 'data-lost'; readonly name: string; readonly from: number; readonly key?: string }
  | { readonly type: 'standstill'; readonly from: number }
  /** A key without a TTL was seen. */
  | { readonly type: 'persistent'; readonly key: string }
  /** A key or resource that was left in Redis or in a process after everything had to be gone. */
  | { readonly type: 'left'; readonly what: string }
);

export type HistoryEvent = (WorkerEvent & { readonly process: string }) | (RunEvent & { readonly process: typeof RUN });

/** The process name of events that the run records. */
export const RUN = 'run';
