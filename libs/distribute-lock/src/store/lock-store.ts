import type { LockVotes } from '../errors.js';
import type { AcquireAllAnswer } from './acquire-all-answer.js';
import type { LockState } from './lock-state.js';

/**
 * Which rules a lock follows. `exclusive` and `write` exclude everybody and are one thing; `read` shares with other readers;
 * a `semaphore` has permits. All kinds of one key exclude each other as their names say.
 * @public
 */
export type LockKind = 'exclusive' | 'write' | 'read' | 'semaphore';

/**
 * Names a lock and who speaks. The owner token is `<process id>:<sequence>`; that of a reader ends in `:r`, and that of a
 * semaphore in `:<weight>`, the permits it takes.
 * @public
 */
export interface LockName {
  readonly key: string;
  readonly ownerToken: string;
  /** @defaultValue `'exclusive'` */
  readonly kind?: LockKind;
}

/** Asks for the lock `key` in the name of `ownerToken`. @public */
export interface AcquireRequest extends LockName {
  /** How long the lease lives without renewal, whole milliseconds. */
  readonly ttlMs: number;
  /** Whether to be queued, and woken by a message, when somebody else has the lock. */
  readonly wait: boolean;
  /** How many consecutive fencing tokens a grant brings. */
  readonly block: number;
  /** Of a semaphore: how many permits it has in all. */
  readonly permits?: number;
}

/** @public */
export type AcquireAnswer = {
  /**
   * The command may have been sent on two connections, so the store may execute it once more: the core undoes its token again when
   * no late execution can follow.
   */
  readonly resent?: boolean;
} & (
  | {
      readonly outcome: 'granted';
      /** First of the `block` fencing tokens. */
      readonly fencingToken: number;
      /** How many processes wait for the lock. */
      readonly waiting: number;
    }
  | {
      readonly outcome: 'queued';
      /** What is left of the present lease in milliseconds; -1 when it has no end or none is known. */
      readonly remainingMs: number;
      /** The holder is not one of ours, so it will not send a message when it releases. */
      readonly foreign: boolean;
      /** The owner token that the lock carries, where it belongs to the process that asks: its message may have been lost. */
      readonly ownToken?: string;
      /** Whether the token stood in the queue before; absent where the store keeps no order. */
      readonly stood?: boolean;
    }
  | {
      readonly outcome: 'busy';
      readonly remainingMs: number;
      readonly foreign: boolean;
    }
  | {
      /** The key is in use as something else; the token stands in no queue. */
      readonly outcome: 'mismatch';
      /** The permits of the semaphore that the key is at present; absent when it is a lock of another kind. */
      readonly permits?: number;
    }
);

/** Gives the lock back, leaves its queue, or undoes an attempt: all three are one. @public */
export interface ReleaseRequest extends LockName {
  /** The next attempt of this process, queued behind those that wait already. */
  readonly next?: { readonly ownerToken: string; readonly ttlMs: number; readonly block: number };
  /** Grant at once when the head of the queue belongs to the releasing process (strict fairness). */
  readonly grantOwn?: { readonly ttlMs: number; readonly block: number };
}

/** @public */
export type ReleaseAnswer =
  /** `free`: nobody waits. `passed`: another process has it. */
  | { readonly outcome: 'free' | 'passed' }
  /**
   * The token did not hold the lock; nothing else was done. `resent`: the command may have been applied before, so this is no proof
   * of a loss. `taken`: the key is known to belong to another owner.
   */
  | { readonly outcome: 'lost'; readonly resent: boolean; readonly taken?: boolean }
  /** `next` is queued; look again after `remainingMs` without a message. */
  | { readonly outcome: 'queued'; readonly remainingMs: number }
  /** `ownerToken`, a token of this process, holds the lock now. */
  | {
      readonly outcome: 'granted';
      readonly ownerToken: string;
      readonly fencingToken: number;
      readonly waiting: number;
    };

/** @public */
export interface RenewRequest extends LockName {
  readonly ttlMs: number;
  /**
   * Whether the lease may also become shorter: it ends `ttlMs` after the command.
   * @defaultValue `false`
   */
  readonly exact?: boolean;
}

/** Turns a write lock into a read lock, without a moment in which somebody else may write. @public */
export interface DowngradeRequest extends LockName {
  /** The reader's token, under which the lease goes on. */
  readonly readToken: string;
  readonly ttlMs: number;
}

/**
 * How many processes wait, or that the token no longer holds the lock: `'taken'` where the key is known to belong to another
 * owner, otherwise `'lost'`.
 * @public
 */
export type RenewAnswer = number | 'lost' | 'taken' | Error;

/** What other processes tell this one. @public */
export interface LockMessage {
  /**
   * `granted`: the lock was given to `ownerToken` for the claim window, and must be claimed by acquire. `contended`: somebody
   * waits behind it. `revoked`: the lock was taken away from it by force.
   */
  readonly type: 'granted' | 'contended' | 'revoked';
  readonly key: string;
  readonly ownerToken: string;
  /** Of an exclusive grant: the first fencing token of its {@link block}, for who can prove that the claim window is not over and begins at once. */
  readonly fencingToken?: number;
  /**
   * Of granted permits: how many fencing tokens the offer brings.
   * @defaultValue `16`
   */
  readonly block?: number;
  /** Of granted permits: another process waits for some. */
  readonly contended?: boolean;
}

/** What a store reports without being asked. @public */
export interface LockStoreListener {
  /** A hint: it is dropped unless its token was issued by this process. */
  message(message: LockMessage): void;
  /** A message arrived that no process of this package sends. */
  unreadable?(): void;
  /** No message arrives until {@link resubscribed}: waiting callers have to poll. */
  unsubscribed?(): void;
  /** Messages arrive, but some may have been missed: waiting callers should ask again. */
  resubscribed(): void;
  /** The store could not undo so many abandoned tokens: the keys that they took stay locked until their ttl ends. */
  dropped?(count: number): void;
}

/** What a {@link LockStoreError} may carry besides. @public */
export interface LockStoreErrorOptions extends ErrorOptions {
  /** Of a quorum: how the nodes voted. */
  readonly votes?: LockVotes;
  /** How many replicas acknowledged the grant, where more were asked for. */
  readonly replicas?: number;
  /**
   * Whether the command may have reached the store. `false`: it never left this process, so it has no effect and is not undone.
   * @defaultValue `true`
   */
  readonly sent?: boolean;
}

/** A command of the store failed. Unless `sent` is false, it is not known whether it took effect. @public */
export class LockStoreError extends Error {
  override readonly name = 'LockStoreError';
  /** Of a quorum: how the nodes voted. */
  readonly votes: LockVotes | undefined;
  /** How many replicas acknowledged the grant, where more were asked for. */
  readonly replicas: number | undefined;
  /** Whether the command may have reached the store; `false`: it never left this process. */
  readonly sent: boolean;

  constructor(
    message: string,
    /** Whether asking again soon may help (a broken connection), or not (a missing right). */
    readonly passing: boolean,
    options: LockStoreErrorOptions = {},
  ) {
    super(message, options);
    this.votes = options.votes;
    this.replicas = options.replicas;
    this.sent = options.sent ?? true;
  }
}

/** Whether the answer says that the token no longer holds the lock. @internal */
export function isLost(answer: RenewAnswer | undefined): answer is 'lost' | 'taken' {
  return answer === 'lost' || answer === 'taken';
}

/** Why the lease is lost, as the store says. @internal */
export function lossOfAnswer(answer: 'lost' | 'taken'): { readonly reason: 'deleted' | 'taken' } {
  return { reason: answer === 'taken' ? 'taken' : 'deleted' };
}

/** Whether asking again soon may help. By name, as the store may come from another copy of this package. @internal */
export function isPassing(error: unknown): boolean {
  return error instanceof Error && error.name === 'LockStoreError' && 'passing' in error && error.passing === true;
}

/** Whether the failed command may have reached the store, and so may take effect. By name, as for {@link isPassing}. @internal */
export function mayTakeEffect(error: unknown): boolean {
  return !(error instanceof Error && error.name === 'LockStoreError' && 'sent' in error && error.sent === false);
}

/**
 * The port between the lock core and where locks live.
 *
 * Every command is idempotent by owner token, so it may be sent again. A command rejects with a {@link LockStoreError}
 * when it is not known whether it took effect.
 * @public
 */
export interface LockStore {
  /**
   * Kinds of lock that it offers.
   * @defaultValue `exclusive` alone
   */
  readonly kinds?: ReadonlySet<LockKind>;
  /**
   * Whether it keeps one order for all who wait (`fair: 'strict'`).
   * @defaultValue `true`
   */
  readonly ordered?: boolean;
  /** Opens connections and proves that the store answers. */
  connect(): Promise<void>;
  /**
   * Delivers messages for owner tokens of `processId`. Resolves when messages can arrive, with `false` where they never will
   * (the caller then asks again now and then).
   */
  subscribe(processId: string, listener: LockStoreListener): Promise<boolean>;
  /** Whether callers wait for messages, so that a connection on which none can arrive has to be found soon. */
  messagesExpected?(expected: boolean): void;
  /** A lock was granted without the message that announces it: the connection for messages may be dead. */
  messageMissed?(): void;
  /** What an operator should change about the server, as sentences; never rejects, and says nothing where it may not ask. */
  advice?(): Promise<readonly string[]>;
  /** Why the store cannot hold a lock of this key, as the end of a sentence about the key; absent where all keys are good. */
  keyFault?(key: string): string | undefined;
  acquire(request: AcquireRequest): PromiseLike<AcquireAnswer>;
  /** Takes exclusive locks in one step: all, if each is free and nobody waits for it, or none. Absent where that cannot be done. */
  acquireAll?(requests: readonly AcquireRequest[]): PromiseLike<AcquireAllAnswer>;
  /** Whether `acquireAll` can take these keys; absent where it can take any. */
  mayTakeAll?(keys: readonly string[]): boolean;
  release(request: ReleaseRequest): PromiseLike<ReleaseAnswer>;
  /** Lengthens leases, and shortens one only where the request is `exact`; answers in the order of the requests. */
  renew(requests: readonly RenewRequest[]): Promise<readonly RenewAnswer[]>;
  /** The same for one, whose answer need not wait for those of others; absent where one call for all is better. */
  renewOne?(request: RenewRequest): PromiseLike<RenewAnswer>;
  /** Only where `kinds` has `read`; idempotent by `readToken`. */
  downgrade?(request: DowngradeRequest): Promise<RenewAnswer>;
  /** Looks, and changes nothing. */
  inspect?(key: string): Promise<LockState>;
  /** Takes the lock away from all who have it, tells them (`revoked`), and serves the queue; answers whether anybody lost it. */
  force?(key: string): Promise<boolean>;
  /** Closes what the store opened, and nothing else. */
  close(): Promise<void>;
}
