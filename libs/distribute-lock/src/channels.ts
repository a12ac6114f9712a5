import { type Channel, tracingChannel, type TracingChannel } from 'node:diagnostics_channel';

import type { LeaseLossReason, LeaseLostError } from './errors.js';
import { type LockEvent, stateChannel } from './events.js';
import type { LockOptions } from './options/lock-options.js';
import { processWide } from './runtime/process-wide.js';

type KindName = NonNullable<LockOptions['kind']>;

/**
 * How a waiter got a lock that another caller had held.
 *
 * - `local`: in memory, from a holder of the same process, or by the release of this process
 * - `message`: by a message of the process that released it
 * - `heartbeat`: the message was missing, and the waiter asked again
 * - `expiry`: the lease in front had ended without a release
 * @public
 */
export type LockHandOver = 'local' | 'message' | 'heartbeat' | 'expiry';

/**
 * A message of the channel `acquire`: one call that asks for a lock. All messages of a call are one object, and the optional fields
 * are set when the call ends. It never contains the key.
 * @public
 */
export interface LockAcquireMessage {
  /** Class and method of a decorated call, or option `name`; at most 200 names per process, and `other`. */
  readonly name: string;
  readonly kind: NonNullable<LockOptions['kind']>;
  /** `contended`: another caller holds the lock, and `wait` is 0. `refused`: for any other reason; see `error`. */
  readonly outcome?: 'acquired' | 'contended' | 'timeout' | 'refused';
  /** How long the caller waited, milliseconds. */
  readonly waitedMs?: number;
  /** Of the lease; of several keys, the largest. */
  readonly fencingToken?: number;
  /** Unset if no caller held the lock. */
  readonly handOver?: LockHandOver;
  /** Its message may contain what the user wrote into a template, so it is no label; its `code` is one. */
  readonly error?: Error;
}

/** A message of the channel `hold`: the lease of one key, from its grant until it is released or lost. @public */
export interface LockHoldMessage {
  readonly name: string;
  readonly kind: NonNullable<LockOptions['kind']>;
  readonly fencingToken: number;
  /** The call that acquired the lease. */
  readonly acquire: LockAcquireMessage;
  readonly outcome?: 'released' | 'lost';
  /** How long the lease was held, milliseconds. */
  readonly heldMs?: number;
  /** Why the lease was lost. */
  readonly reason?: LeaseLossReason;
  readonly error?: Error;
}

/**
 * A message of the channel `state`.
 *
 * - `lost`, `held-long`, `release-failed`, `degraded`, `disconnected`, `reconnected`: a {@link LockEvent}
 * - `registered`: a decorated lock, when the application starts
 * - `renewed`: a lease was renewed `lagMs` after its renewal was due
 * - `pubsub`: whether messages reach this process; without them, waiting callers poll
 * @public
 */
export type LockStateMessage =
  | LockEvent
  | { readonly type: 'registered'; readonly name: string; readonly kind: NonNullable<LockOptions['kind']> }
  | { readonly type: 'renewed'; readonly name: string; readonly lagMs: number }
  | { readonly type: 'pubsub'; readonly connection: string; readonly available: boolean };

/**
 * The channels of `node:diagnostics_channel`, for tracing and metrics: `nestjs-distribute-lock:acquire` and `:hold` are tracing
 * channels, and `:state` is a plain one. They serve all applications of the process. Without subscribers no message is created.
 * Subscribers run inside the call, so they must be fast. Node reports an error of a subscriber as an uncaught exception.
 *
 * @example
 * ```ts
 * lockChannels.acquire.asyncEnd.subscribe((message) => {
 *   const { name, waitedMs, outcome } = message as LockAcquireMessage;
 * });
 * ```
 * @public
 */
export const lockChannels: {
  // Releases of @types/node differ in the order of the parameters.
  readonly acquire: TracingChannel<LockAcquireMessage, LockAcquireMessage>;
  readonly hold: TracingChannel<LockHoldMessage, LockHoldMessage>;
  readonly state: Channel<LockStateMessage, LockStateMessage>;
} = {
  acquire: tracingChannel('nestjs-distribute-lock:acquire'),
  hold: tracingChannel('nestjs-distribute-lock:hold'),
  state: stateChannel as Channel<LockStateMessage, LockStateMessage>,
};

const { acquire, hold, state } = lockChannels;

/** Decorated locks of the process: label and kind. @internal */
export const registeredLocks = processWide('registered locks', () => new Map<string, KindName>());

/** @internal */
export function registerLock(name: string, kind: KindName): void {
  registeredLocks.set(name, kind);
  if (state.hasSubscribers) state.publish({ type: 'registered', name, kind });
}

/** @internal */
export function reportPubsub(connection: string, available: boolean): void {
  if (state.hasSubscribers) state.publish({ type: 'pubsub', connection, available });
}

type Written<T> = { -readonly [Key in keyof T]: T[Key] };

/** The messages of one call, while the channels have subscribers. @internal */
export interface CallTrace {
  readonly acquire: Written<LockAcquireMessage>;
  hold?: Written<LockHoldMessage> | undefined;
}

/** @internal */
export interface TracedCall {
  readonly name: string;
  readonly options: { readonly kind: KindName };
  readonly trace?: CallTrace | undefined;
}

/** Starts the trace of a call; `undefined` without subscribers. @internal */
export function traceOf({ name, options: { kind } }: TracedCall): CallTrace | undefined {
  if (!acquire.hasSubscribers && !hold.hasSubscribers) return undefined;
  const message = { name, kind };
  begin(acquire, message);
  return { acquire: message };
}

/** Ends the wait of a traced call. @internal */
export function traceWait({ acquire: message }: CallTrace, result: Partial<LockAcquireMessage>): void {
  end(acquire, Object.assign(message, result));
}

/** Starts the hold of a traced call. @internal */
export function traceHold({ name, options: { kind }, trace }: TracedCall, fencingToken: number): void {
  if (trace === undefined) return;
  trace.hold = { name, kind, fencingToken, acquire: trace.acquire };
  begin(hold, trace.hold);
}

/** Ends the hold of a traced call, once. Its parameters are no object, because most calls are not traced. @internal */
export function traceHoldEnd({ trace }: TracedCall, heldMs: number, error?: LeaseLostError): void {
  const message = trace?.hold;
  if (message === undefined) return;
  trace!.hold = undefined;
  const outcome = error === undefined ? 'released' : 'lost';
  end(hold, Object.assign(message, { outcome, heldMs } as const, error && { reason: error.reason, error }));
}

function begin<T extends object>(tracing: TracingChannel<T, T>, message: T): void {
  tracing.start.publish(message);
  tracing.end.publish(message);
}

function end<T extends { error?: Error }>(tracing: TracingChannel<T, T>, message: T): void {
  if (message.error !== undefined) tracing.error.publish(message);
  tracing.asyncStart.publish(message);
  tracing.asyncEnd.publish(message);
}
