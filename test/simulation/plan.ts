import type { ResolvedLockOptions } from '../../libs/distribute-lock/src/options/lock-options.js';

/** One caller: asks, holds, releases, perhaps more than once. All times in milliseconds. */
export interface CallerPlan {
  readonly at: number;
  readonly process: number;
  readonly key: string;
  /** It takes these keys together, in the order in which they are written here, if it could. */
  readonly keys?: readonly string[];
  readonly options: ResolvedLockOptions;
  readonly holdMs: number;
  /** After each question its signal aborts, unless it has the lock by then. */
  readonly abortAfterMs?: number;
  /** It becomes a reader while it holds. */
  readonly downgradeAfterMs?: number;
  readonly extend?: { readonly afterMs: number; readonly ttlMs: number };
  /** How many times it asks. */
  readonly rounds: number;
  readonly gapMs: number;
  readonly scoped: boolean;
}

/**
 * `break`, `mute`, `deafen`: of the connection for commands, and of the one for messages. `stop`: SIGSTOP, or a blocked loop.
 * `foreign`: somebody else takes the lock if it is free. `overwrite`, `delete`, `flush`: the server loses what it was told.
 */
export type FaultKind =
  'break' | 'mute' | 'deafen' | 'stop' | 'crash' | 'drain' | 'foreign' | 'overwrite' | 'delete' | 'flush';

export interface FaultPlan {
  readonly kind: FaultKind;
  readonly at: number;
  readonly process: number;
  readonly key: string;
  /** How long it lasts. */
  readonly ms: number;
}

export interface ProcessPlan {
  /** How fast its clock runs. */
  readonly rate: number;
  readonly offset: number;
  /** It cannot subscribe, so it has to poll. */
  readonly deaf: boolean;
}

/** Everything of a history but the small chances, which come from `seed` as well. */
export interface Plan {
  readonly seed: number;
  /** What kind of trouble it is about. */
  readonly weather: string;
  readonly processes: readonly ProcessPlan[];
  readonly callers: readonly CallerPlan[];
  readonly faults: readonly FaultPlan[];
  /** The longest time that a command, answer or message takes normally. */
  readonly latencyMs: number;
  /** How late a timer may be. */
  readonly lagMs: number;
  /** Shares of messages that are lost, of transfers that are late, of commands that are refused. */
  readonly lossShare: number;
  readonly lateShare: number;
  readonly refusalShare: number;
  /** Whether the server knows how many received a message. */
  readonly counted: boolean;
}

/** How long a patient caller waits: longer than any history lasts, so it must be served. */
export const PATIENT_MS = 600_000;

export const isCalm = (plan: Plan): boolean =>
  plan.faults.length === 0 && plan.lossShare + plan.lateShare + plan.refusalShare === 0;
