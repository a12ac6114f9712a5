import { publish } from '../channels.js';
import type { LockEvent, LockEvents } from '../events.js';
import type { Grant } from './lease/grant.js';
import { Watchdog } from './lease/watchdog.js';
import type { RetryAfter } from '../options/retry-after.js';
import type { Clock } from '../runtime/clock.js';
import { CountReport } from '../runtime/count-report.js';
import { kindOfToken, OwnerTokens } from '../runtime/owner-token.js';
import { Timers } from '../runtime/timers.js';
import { Turn } from '../runtime/turn.js';
import { AbandonedTokens } from '../store/abandoned-tokens.js';
import { whenAnswered, type LockName, type LockStore, type LockStoreListener } from '../store/lock-store.js';
import { HoldTimes } from './hold-times.js';
import { KeptLeases } from './kept-leases.js';
import { Mailbox } from './mailbox.js';
import { RetryEstimates } from './retry-estimates.js';

/** Settings of the lock core. */
export interface CoreSettings {
  readonly store: LockStore;
  readonly clock: Clock;
  readonly events: LockEvents;
  readonly random: () => number;
  readonly processId: string;
  readonly retryAfter?: RetryAfter | undefined;
  /** `Infinity` disables the report. */
  readonly warnAfterMs: number;
  readonly maxKept: number;
  readonly confirmOffers: boolean;
  /** The name of the module's connection. */
  readonly connection: string;
}

/** Components that the parts of the lock core share. */
export interface CoreParts {
  readonly store: LockStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly turn: Turn;
  readonly tokens: OwnerTokens;
  readonly watchdog: Watchdog;
  readonly abandoned: AbandonedTokens<LockName>;
  readonly mailbox: Mailbox;
  /** Counts dropped messages. */
  readonly foreignMessages: CountReport;
  readonly kept: KeptLeases;
  readonly holds: HoldTimes;
  readonly retries: RetryEstimates;
  readonly events: LockEvents;
  /** A number from 0 to 1, for jitter. */
  readonly random: () => number;
  /** The store must confirm each message before the process acts on it. */
  readonly confirmOffers: boolean;
  /** A waiter has been settled. */
  readonly settled: () => void;
}

/** Callbacks of the shared components. */
export interface CoreListeners {
  readonly lost: (grant: Grant) => void;
  readonly undone: () => void;
  readonly settled: () => void;
  readonly listener: LockStoreListener;
}

export function coreParts(settings: CoreSettings, { lost, undone, settled, listener }: CoreListeners): CoreParts {
  const { store, clock, events, random, processId, retryAfter, warnAfterMs, maxKept, confirmOffers, connection } =
    settings;
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
    mailbox: new Mailbox(
      store,
      processId,
      timers,
      listener,
      (error) => events.emit(deaf(error)),
      (available) => publish({ type: 'pubsub', connection, available }),
    ),
    foreignMessages: new CountReport(clock, timers, (count) => events.emit(foreignMessages(count))),
    kept: new KeptLeases(maxKept),
    holds,
    retries: new RetryEstimates(clock, holds, retryAfter),
    events,
    random,
    confirmOffers,
    settled,
  };
}

/** Tells the operator why waiting callers send more commands. */
const deaf = (error: Error): LockEvent => ({
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
    `Too many abandoned attempts wait until Redis confirms that they were undone, so the ${count} oldest were dropped. A key that a ` +
      'dropped attempt took stays locked until its ttl ends.',
  ),
});
