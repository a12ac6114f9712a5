import { reportPubsub } from '../channels.js';
import type { LockEvent, LockEvents } from '../events.js';
import type { Grant } from './lease/grant.js';
import type { Loss } from './lease/loss.js';
import { Watchdog } from './lease/watchdog.js';
import type { RetryAfter } from '../options/retry-after.js';
import type { Clock } from '../runtime/clock.js';
import { CountReport } from '../runtime/count-report.js';
import { kindOfToken, OwnerTokens } from '../runtime/owner-token.js';
import { Timers } from '../runtime/timers.js';
import { Turn } from '../runtime/turn.js';
import { AbandonedTokens } from '../store/abandoned-tokens.js';
import { type LockName, type LockStore, type LockStoreListener, whenAnswered } from '../store/lock-store.js';
import { KeptLeases } from './kept-leases.js';
import { InboxSubscription } from './inbox-subscription.js';
import type { KeyState } from './key-state.js';
import { HoldTimes, WaitEstimates } from './wait-estimates.js';

/** Settings of the shared components. */
export interface ContextSettings {
  readonly store: LockStore;
  readonly clock: Clock;
  readonly events: LockEvents;
  readonly random: () => number;
  readonly processId: string;
  readonly retryAfter?: RetryAfter | undefined;
  /** `Infinity` disables the report. */
  readonly warnAfterMs: number;
  readonly maxKept: number;
  /** The name of the module's connection. */
  readonly connection: string;
}

/** The components that all parts of one lock engine share. */
export interface EngineContext {
  readonly store: LockStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly turn: Turn;
  readonly tokens: OwnerTokens;
  readonly watchdog: Watchdog;
  readonly abandoned: AbandonedTokens<LockName>;
  readonly inbox: InboxSubscription;
  /** Counts dropped messages. */
  readonly foreignMessages: CountReport;
  readonly kept: KeptLeases;
  readonly holds: HoldTimes;
  readonly estimates: WaitEstimates;
  readonly events: LockEvents;
  /** A number from 0 to 1, for jitter. */
  readonly random: () => number;
  /** A waiter has been settled. */
  readonly settled: () => void;
  /** A wait list, an attempt or a grant of the key has changed. */
  readonly changed: (state: KeyState) => void;
}

/** Callbacks of the shared components. */
export interface ContextListeners {
  readonly lost: (grant: Grant, loss: Loss) => void;
  readonly undone: () => void;
  readonly settled: () => void;
  readonly changed: (state: KeyState) => void;
  /** The receiver of messages. */
  readonly messages: () => LockStoreListener;
  /** Whether the connection to a server is lost. */
  readonly serverIsAway: () => boolean;
}

export function engineContext(
  settings: ContextSettings,
  { lost, undone, settled, changed, messages, serverIsAway }: ContextListeners,
): EngineContext {
  const { store, clock, events, random, processId, retryAfter, warnAfterMs, maxKept } = settings;
  const timers = new Timers(clock);
  const holds = new HoldTimes();
  return {
    store,
    clock,
    timers,
    turn: new Turn(clock),
    tokens: new OwnerTokens(processId),
    watchdog: new Watchdog(store, clock, timers, lost, warnAfterMs),
    abandoned: new AbandonedTokens<LockName>({
      clock,
      timers,
      undo: ({ key, ownerToken }, answer) =>
        whenAnswered(store.release({ key, ownerToken, kind: kindOfToken(ownerToken) }), answer),
      settled: undone,
      dropped: (count) => events.emit(droppedTokens(count)),
    }),
    inbox: inboxOf(settings, timers, messages, serverIsAway),
    foreignMessages: new CountReport(clock, timers, (count) => events.emit(foreignMessages(count))),
    kept: new KeptLeases(maxKept, timers),
    holds,
    estimates: new WaitEstimates(clock, holds, retryAfter),
    events,
    random,
    settled,
    changed,
  };
}

const inboxOf = (
  { store, clock, processId, events, connection }: ContextSettings,
  timers: Timers,
  messages: () => LockStoreListener,
  serverIsAway: () => boolean,
): InboxSubscription =>
  new InboxSubscription(
    store,
    processId,
    timers,
    clock,
    messages,
    (error) => events.emit(noMessages(error)),
    (available) => reportPubsub(connection, available),
    serverIsAway,
  );

/** Explains to the operator why waiting callers send more commands. */
const noMessages = (error: Error): LockEvent => ({
  type: 'degraded',
  name: 'messages between processes',
  error: new Error(`Pub/sub is unavailable; waiting callers poll Redis up to 10 times per second: ${error.message}`),
});

/** Asks the operator to look for the publisher of the messages. */
const foreignMessages = (count: number): LockEvent => ({
  type: 'degraded',
  name: 'messages between processes',
  error: new Error(
    `${count} messages were dropped because no process of this package can have sent them. Check which clients may publish to the ` +
      'channels "nestjs-lock:*".',
  ),
});

export const droppedTokens = (count: number): LockEvent => ({
  type: 'degraded',
  name: 'abandoned attempts',
  error: new Error(
    `Too many attempts were abandoned: the ${count} oldest are not undone. Their keys may stay locked until the ttl ends.`,
  ),
});
