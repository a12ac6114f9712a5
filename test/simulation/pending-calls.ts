import type { ResolvedLockOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import type { SimulatedProcess } from './simulated-process.js';

/** A call of the engine that has not settled. */
export interface Call {
  readonly process: SimulatedProcess;
  readonly label: string;
  readonly key: string;
  readonly options: ResolvedLockOptions;
  /** Whether it is a caller that waits for the lock. */
  readonly waits?: boolean;
  /** A multi-key call, which keeps the keys that it has. */
  readonly keys?: readonly string[];
}

/** The calls that have not settled, and the keys that stay taken without any call. */
export class PendingCalls extends Set<Call> {
  private readonly takenUntil = new Map<string, number>();

  constructor(private readonly timeline: { readonly now: number }) {
    super();
  }

  begun(call: Call): Call {
    this.add(call);
    return call;
  }

  /** The lock may stay taken until then without a holder. */
  leftUntil(key: string, at: number): void {
    this.takenUntil.set(key, Math.max(at, this.takenUntil.get(key) ?? 0));
  }

  /** Whether the lock may be taken without a holder. */
  isLeft(key: string): boolean {
    return this.timeline.now < (this.takenUntil.get(key) ?? 0);
  }
}
