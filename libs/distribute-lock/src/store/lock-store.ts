import type { LockVotes } from '../errors.js';

/**
 * Kind of a lock. `exclusive` and `write` are the same: one holder at a time. A `read` lock is shared with other
 * readers. A `semaphore` has permits. Locks of one key exclude each other according to their kinds.
 * @public
 */
export type LockKind = 'exclusive' | 'write' | 'read' | 'semaphore';

/** All kinds, for a store that supports each. @internal */
export const LOCK_KINDS: ReadonlySet<LockKind> = new Set(['exclusive', 'write', 'read', 'semaphore']);

/**
 * Identifies a lock and an attempt or holder. The owner token is `<process id>:<sequence>`. The owner token of a reader
 * ends in `:r`; that of a semaphore ends in `P<permits>:<weight>`: the total number of permits, and those
 * number of permits. The store grants it while the permits in use, with its weight, are at most that number.
 * @public
 */
export interface LockName {
  readonly key: string;
  readonly ownerToken: string;
  /** @defaultValue `'exclusive'` */
  readonly kind?: LockKind;
}

/** One attempt to acquire the lock `key` with `ownerToken`. @public */
export interface AcquireRequest extends LockName {
  /** Duration of the lease without renewal, in whole milliseconds. */
  readonly ttlMs: number;
  /** Whether the store queues the token and sends a message to its process when another owner holds the lock. */
  readonly wait: boolean;
  /** Number of consecutive fencing tokens of a grant. */
  readonly block: number;
  /**
   * Takes the lock from its holders in the same step; waiters keep their places. For exclusive locks of a store with
   * {@link LockStore.revoked}.
   * @defaultValue `false`
   */
  readonly steal?: boolean;
}

/** What a store answers to an acquire command. @public */
export type AcquireAnswer = {
  /**
   * The command may have been sent on two connections, so the store may execute it twice. The lock engine undoes its
   * token again when no late execution can follow.
   */
  readonly resent?: boolean;
} & (
  | {
      readonly outcome: 'granted';
      /** First of the `block` fencing tokens. */
      readonly fencingToken: number;
      /** Number of processes that wait for the lock. */
      readonly waiting: number;
    }
  | {
      readonly outcome: 'queued';
      /** Milliseconds until the current lease ends; -1 when it has no end or is unknown. */
      readonly remainingMs: number;
      /** A foreign client or a lock of another kind has the key, so no message announces its release. */
      readonly foreign: boolean;
      /**
       * The owner token that holds the lock, if it belongs to the calling process. The message of its offer may have
       * been lost.
       */
      readonly ownToken?: string;
      /** Whether the token was queued before the command; absent if the store keeps no order. */
      readonly keptPlace?: boolean;
      /** The command queued the token, directly behind a token of the same process or at the head. For semaphores. */
      readonly adjacent?: boolean;
    }
  | {
      readonly outcome: 'busy';
      readonly remainingMs: number;
      readonly foreign: boolean;
    }
);

/**
 * What a store answers to the acquisition of several locks in one step. `granted`: fencing tokens in the order of the
 * requests. `busy`: nothing was written, and the lease of a lock that is not free ends in `remainingMs` (-1: unknown). @public
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

/** Releases the lock, removes the token from the queue, or undoes an attempt: one command does all three. @public */
export interface ReleaseRequest extends LockName {
  /** Next attempt of this process. It is queued behind the current waiters. */
  readonly next?: { readonly ownerToken: string; readonly ttlMs: number; readonly block: number };
  /** Grants the lock at once if the head of the queue belongs to the releasing process (strict fairness). */
  readonly grantOwn?: { readonly ttlMs: number; readonly block: number };
}

/** What a store answers to a release. @public */
export type ReleaseAnswer =
  /** `free`: no process waits. `passed`: another process holds the lock or has an offer. */
  | { readonly outcome: 'free' | 'passed' }
  /**
   * The token did not hold the lock; nothing else changed. `resent`: the command may have been executed before, so this
   * answer does not prove a loss. `taken`: another owner holds the key.
   */
  | { readonly outcome: 'lost'; readonly resent: boolean; readonly taken?: boolean }
  /** `next` is queued; repeat the attempt after `remainingMs` without a message. */
  | { readonly outcome: 'queued'; readonly remainingMs: number }
  /** `ownerToken`, a token of this process, now holds the lock. */
  | {
      readonly outcome: 'granted';
      readonly ownerToken: string;
      readonly fencingToken: number;
      readonly waiting: number;
    };

/** A renewal of one lease. @public */
export interface RenewRequest extends LockName {
  readonly ttlMs: number;
  /**
   * Whether the renewal may shorten the lease, so that it ends `ttlMs` after the command.
   * @defaultValue `false`
   */
  readonly exact?: boolean;
}

/** Converts a write lock into a read lock. No other writer can acquire the lock in between. @public */
export interface DowngradeRequest extends LockName {
  /** Owner token of the reader that continues the lease. */
  readonly readToken: string;
  readonly ttlMs: number;
}

/** Replaces the owner token of a lease, so that another process can continue it. @public */
export interface MoveRequest extends LockName {
  /** The token that continues the lease, with a larger fencing token. That of a semaphore has the same permits and weight. */
  readonly to: string;
  /** Duration of the lease from now on. */
  readonly ttlMs: number;
}

/**
 * What a store answers to a move. `lost`: the token did not hold the lock, and nothing changed. `taken`: another owner holds
 * the key. @public
 */
export type MoveAnswer =
  | { readonly outcome: 'granted'; readonly fencingToken: number; readonly waiting: number }
  | { readonly outcome: 'lost'; readonly taken: boolean };

/** What the first call did with a ticket, as far as its record shows. @public */
export type TicketFate = 'kept' | 'used' | 'released';

/** The record of a ticket before the call that reads it. @public */
export interface TicketRecord {
  readonly text: string;
  readonly fate: TicketFate;
  /** Number of calls that have marked it as used. */
  readonly uses: number;
  /** Whether a call has marked it as released. */
  readonly isReleased: boolean;
  /** Milliseconds until the record ends. */
  readonly leftMs: number;
}

/** What a store needs for leases that travel: it moves them, and keeps a record of each ticket. @public */
export interface LeaseTickets {
  /** Identifies the locks of the store, such as their prefix. Equal in all processes that share them. */
  readonly scope: string;
  /** Continues the lease with another owner token, if the token of the request holds it. Idempotent by `to`. */
  move(request: MoveRequest): PromiseLike<MoveAnswer>;
  /** Keeps the record of a ticket for `ttlMs`. */
  keep(id: string, text: string, ttlMs: number): Promise<void>;
  /** Reads the record and adds a mark, in one step. `undefined`: there is no record. */
  mark(id: string, fate: 'used' | 'released'): Promise<TicketRecord | undefined>;
}

/**
 * Number of waiting processes, or that the token no longer holds the lock: `'taken'` if another owner holds the key,
 * otherwise `'lost'`.
 * @public
 */
export type RenewAnswer = number | 'lost' | 'taken' | Error;

/** State of a lock key when the store read it; it may have changed since. @public */
export interface LockState {
  /** `free`: the lock has no holder. `foreign`: a client that does not use this package holds it. */
  readonly kind: 'free' | 'exclusive' | 'read' | 'semaphore' | 'foreign';
  /** Total number of permits, for a semaphore. */
  readonly permits?: number;
  /** Owner tokens that hold the lock or have an offer; for a foreign holder, the value of the key. */
  readonly holders: readonly string[];
  /** Milliseconds until the lease ends without renewal; 0 when the lock is free, -1 when the lease has no end. */
  readonly remainingMs: number;
  /** Number of waiting processes. */
  readonly waiting: number;
}

/** A message from another process. @public */
export interface LockMessage {
  /**
   * `granted`: `ownerToken` has an offer, which it must claim with `acquire` within the claim window. `contended`:
   * another process waits behind it. `revoked`: its lock was released by force.
   */
  readonly type: 'granted' | 'contended' | 'revoked';
  readonly key: string;
  readonly ownerToken: string;
}

/** An operator asks what the process of a holder does with a key. @public */
export interface LockInquiry {
  readonly key: string;
  readonly ownerToken: string;
  /** The process does not hand the grant of the owner token over in memory, so that its present hold is the last one. */
  readonly last?: boolean;
}

/** Receives events of a store. @public */
export interface LockStoreListener {
  /** What this process says about itself, and about the key of the question. `undefined` if it did not issue the owner token. */
  describe?(inquiry?: LockInquiry): string | undefined;
  /** Messages are hints: the lock engine ignores a message unless this process issued its token. */
  message(message: LockMessage): void;
  /** A message arrived that does not follow the protocol of this package. */
  unreadable?(): void;
  /**
   * No message arrives until {@link resubscribed}: waiting callers must poll.
   * @param reason - present if it lasts until an operator acts, such as a missing permission
   */
  unsubscribed?(reason?: Error): void;
  /** Messages arrive again, but some may have been missed: waiting callers should repeat their attempts. */
  resubscribed(): void;
  /** Reports abandoned tokens that the store could not undo: their keys stay locked until their ttl ends. */
  dropped?(count: number): void;
}

/** Observes the connections of a store. @public */
export interface ConnectionListener {
  /**
   * A connection was lost or could not be opened. Called once for each outage.
   * @param server - kind and address of the server, without credentials
   * @param reason - the error of the connection, without credentials
   */
  disconnected(server: string, reason: string): void;
  /** The connection of a reported outage works again. */
  reconnected(server: string, outageMs: number): void;
}

/**
 * Messages between the processes that share the locks of a store. They are hints: any client with the right to publish can forge
 * them, and no lock decision depends on them. @public
 */
export interface LockHints {
  /** Resolves when messages arrive; rejects with a {@link LockStoreError}. */
  open(): Promise<void>;
  /** Sends the text to all processes that have opened hints, this one included; drops it while the store is unavailable. */
  publish(text: string): void;
  /** Messages stop. */
  close(): void;
}

/** Options of a {@link LockStoreError}. @public */
export interface LockStoreErrorOptions {
  /** The underlying error. */
  readonly cause?: unknown;
  /** Of a quorum: how the nodes voted. */
  readonly votes?: LockVotes;
  /** How many replicas acknowledged the grant, where more were required. */
  readonly replicas?: number;
  /**
   * Whether the command may have reached the store. `false`: it never left this process, so it has no effect and needs
   * no undo.
   * @defaultValue `true`
   */
  readonly sent?: boolean;
}

/** A failed command of the store. Unless `sent` is false, the command may have taken effect. @public */
export class LockStoreError extends Error {
  override readonly name = 'LockStoreError';
  /** Of a quorum: how the nodes voted. */
  readonly votes: LockVotes | undefined;
  /** How many replicas acknowledged the grant, where more were required. */
  readonly replicas: number | undefined;
  /** Whether the command may have reached the store; `false`: it never left this process. */
  readonly sent: boolean;

  constructor(
    message: string,
    /** Whether a retry may succeed: true for a lost connection, false for a missing permission. */
    readonly passing: boolean,
    options: LockStoreErrorOptions = {},
  ) {
    super(message, options);
    this.votes = options.votes;
    this.replicas = options.replicas;
    this.sent = options.sent ?? true;
  }
}

/** Whether the answer reports that the token no longer holds the lock. @internal */
export function isLost(answer: RenewAnswer | undefined): answer is 'lost' | 'taken' {
  return answer === 'lost' || answer === 'taken';
}

/** Reason for the loss of the lease, according to the store. @internal */
export function lossOfAnswer(answer: 'lost' | 'taken'): { readonly reason: 'deleted' | 'taken' } {
  return { reason: answer === 'taken' ? 'taken' : 'deleted' };
}

/**
 * Whether a retry may succeed. Compares the error name, because the store may come from another copy of this package.
 * @internal
 */
export function isPassing(error: unknown): boolean {
  return error instanceof Error && error.name === 'LockStoreError' && 'passing' in error && error.passing === true;
}

/** Whether the failed command may have taken effect. Compares the error name, as in {@link isPassing}. @internal */
export function mayTakeEffect(error: unknown): boolean {
  return !(error instanceof Error && error.name === 'LockStoreError' && 'sent' in error && error.sent === false);
}

/** Receives one answer of the store. */
export interface AnswerListener<T> {
  answered(answer: T): void;
  failed(error: Error): void;
  /** Called when an answer arrives after {@link failed}: the store may have executed the command only now. */
  late?(): void;
}

/**
 * A future answer that can be delivered without creating a promise. Promises cost time, above all when async context is
 * tracked.
 */
export interface Answer<T> extends PromiseLike<T> {
  /** Delivers the answer to one listener. Must be called before the answer is awaited. */
  deliverTo(listener: AnswerListener<T>): void;
}

/** Notifies the listener of the store's answer, synchronously or in a microtask. */
export function whenAnswered<T>(answer: PromiseLike<T> | Answer<T>, listener: AnswerListener<T>): void {
  if ('deliverTo' in answer) return answer.deliverTo(listener);
  void answer.then(
    (value) => listener.answered(value),
    (error: Error) => listener.failed(error),
  );
}

/**
 * The port between the lock engine and the storage of locks.
 *
 * Every command is idempotent by owner token, so it may be repeated. A command rejects with a {@link LockStoreError}
 * when it may or may not have taken effect.
 * @public
 */
export interface LockStore {
  /**
   * Kinds of lock that the store supports.
   * @defaultValue `exclusive` only
   */
  readonly kinds?: ReadonlySet<LockKind>;
  /**
   * Whether the store keeps one queue for all waiters (`fair: 'strict'`).
   * @defaultValue `true`
   */
  readonly ordered?: boolean;
  /** Opens connections and verifies that the store responds. */
  connect(): Promise<void>;
  /**
   * Delivers messages for owner tokens of `processId`. Resolves when messages can arrive, with `false` if the store
   * sends none (waiting callers then poll).
   */
  subscribe(processId: string, listener: LockStoreListener): Promise<boolean>;
  /** Sets whether waiters depend on messages, so that the store detects a dead connection sooner. */
  messagesExpected?(expected: boolean): void;
  /** Reports a grant whose message did not arrive: the connection for messages may be dead. */
  messageMissed?(): void;
  /** Reports outages of connections to the listener. Absent if the store has no connections. */
  observeConnections?(listener: ConnectionListener): void;
  /**
   * Sentences about server settings that an operator should change. Never rejects; empty if the store has no permission
   * to read them.
   */
  advice?(): Promise<readonly string[]>;
  /**
   * Reason why the store cannot hold a lock of this key, as the end of a sentence about the key. Absent if every key is
   * valid.
   */
  keyFault?(key: string): string | undefined;
  /**
   * Grants the lock to the owner token, queues the token if `wait` is set, or answers that another owner holds the lock. The token
   * of the present holder gets a grant.
   */
  acquire(request: AcquireRequest): PromiseLike<AcquireAnswer>;
  /**
   * Acquires several exclusive locks in one step: all of them if each is free and has no waiter, otherwise none. Absent
   * if the store cannot do so.
   */
  acquireAll?(requests: readonly AcquireRequest[]): PromiseLike<AcquireAllAnswer>;
  /** Whether `acquireAll` supports these keys; absent if it supports any. */
  mayTakeAll?(keys: readonly string[]): boolean;
  /** Releases the lock if the owner token holds it, and serves the next waiter; removes a waiting token from the queue. */
  release(request: ReleaseRequest): PromiseLike<ReleaseAnswer>;
  /** Extends leases; shortens a lease only if its request is `exact`. Answers in the order of the requests. */
  renew(requests: readonly RenewRequest[]): Promise<readonly RenewAnswer[]>;
  /** Renews one lease without waiting for the answers of others; absent if one call for all leases is better. */
  renewOne?(request: RenewRequest): PromiseLike<RenewAnswer>;
  /** Present if `kinds` includes `read`. Idempotent by `readToken`. */
  downgrade?(request: DowngradeRequest): Promise<RenewAnswer>;
  /** Absent if leases of this store cannot travel to another process. */
  readonly tickets?: LeaseTickets;
  /** Reads the state of a lock without changing it. */
  inspect?(key: string): Promise<LockState>;
  /**
   * Releases the lock of every holder by force, notifies them (`revoked`) and serves the queue. Resolves to whether a
   * holder lost the lock.
   * @param only - the owner token of the only holder to release
   */
  force?(key: string, only?: string): Promise<boolean>;
  /** What the process of the owner token says ({@link LockStoreListener.describe}); without an answer, what it said last about itself. */
  askProcess?(inquiry: LockInquiry): Promise<string | undefined>;
  /** Notifies the process of the token that its lock was taken away. Never rejects. Present if `acquire` supports `steal`. */
  revoked?(key: string, ownerToken: string): Promise<unknown>;
  /** Messages between the processes that share these locks; absent if the store has no channel for them. */
  hints?(receive: (text: string) => void): LockHints | undefined;
  /** Closes the connections that the store opened, and no others. */
  close(): Promise<void>;
}
