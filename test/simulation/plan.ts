import type { ResolvedLockOptions } from '../../libs/distribute-lock/src/options/lock-options.js';

/** One caller that asks, holds and releases, once or repeatedly. All times are in milliseconds. */
export interface CallerPlan {
  readonly at: number;
  readonly process: number;
  readonly key: string;
  /** It acquires these keys in one call; the order here is that of the call. */
  readonly keys?: readonly string[];
  readonly options: ResolvedLockOptions;
  readonly holdMs: number;
  /** Its signal aborts this long after each call, unless the lock is granted before. */
  readonly abortAfterMs?: number;
  /** It downgrades its write lock during the hold. */
  readonly downgradeAfterMs?: number;
  readonly extend?: { readonly afterMs: number; readonly ttlMs: number };
  /** Number of its calls. */
  readonly rounds: number;
  readonly gapMs: number;
  readonly scoped: boolean;
}

/**
 * `break`, `mute`, `deafen`: of the connection for commands, and of the one for messages. `stop`: SIGSTOP, or a blocked loop.
 * `foreign`: a foreign client takes the lock if it is free. `overwrite`, `delete`, `flush`: the server loses data.
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
  /** The speed of its clock relative to real time. */
  readonly rate: number;
  readonly offset: number;
  /** It cannot subscribe, so it polls. */
  readonly deaf: boolean;
}

/** All settings of a history, except the small random decisions, which come from `seed` as well. */
export interface Plan {
  readonly seed: number;
  /** The kind of faults. */
  readonly weather: string;
  readonly processes: readonly ProcessPlan[];
  readonly callers: readonly CallerPlan[];
  readonly faults: readonly FaultPlan[];
  /** The longest normal time of a command, reply or message in transit. */
  readonly latencyMs: number;
  /** The longest delay of a timer. */
  readonly lagMs: number;
  /** Shares of lost messages, late transfers and refused commands. */
  readonly lossShare: number;
  readonly lateShare: number;
  readonly refusalShare: number;
  /** Whether the server counts the receivers of a message. */
  readonly counted: boolean;
}

/** The wait of a patient caller. It exceeds every history, so the caller must be granted the lock. */
export const PATIENT_MS = 600_000;

export const isCalm = (plan: Plan): boolean =>
  plan.faults.length === 0 && plan.lossShare + plan.lateShare + plan.refusalShare === 0;
