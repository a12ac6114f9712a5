import { isLockError } from '../errors/is-lock-error.js';
import { LeaseLostError } from '../errors/lease-lost.error.js';
import { runHolding } from '../lease/held-leases.js';
import type { Lease } from '../lease/lease.js';
import type { ResolvedLockOptions } from '../options/lock-options.js';
import type { CallScope } from './call-scope.js';

/** A lease that lives on while the result of a method is being handed out. */
export class Hold {
  private ending: Promise<void> | undefined;

  constructor(
    private readonly lease: Lease,
    private readonly options: ResolvedLockOptions,
    /** What messages call the lock. */
    readonly label: string,
    private readonly scope: CallScope | undefined,
  ) {}

  get ended(): boolean {
    return this.ending !== undefined;
  }

  /** Runs a part of the work as the holder, and in the request of the call: whoever reads the result may be outside. */
  run<T>(work: () => T): T {
    const { scope } = this;
    return runHolding(this.lease, scope === undefined ? work : () => scope.run(work));
  }

  /** Gives the lock back; the first call counts. Never rejects. */
  release(): Promise<void> {
    return (this.ending ??= this.lease.release());
  }

  /**
   * Gives the lock back after work that ended well.
   * @throws LeaseLostError with `onLost: 'throw'`, when the lease was lost before
   */
  async complete(): Promise<void> {
    if (this.ended) return;
    const loss = lossOf(this.lease, this.options, this.label);
    await this.release();
    if (loss !== undefined) throw loss;
  }

  /**
   * Gives the lock back when nobody has begun to read the result within one ttl, as if the reader had crashed.
   * @param isRead - asked at that time, of what cannot tell when it is begun
   */
  releaseUnlessRead(isRead = (): boolean => false): () => void {
    const timer = setTimeout(() => {
      if (!isRead()) void this.release();
    }, this.options.ttlMs);
    timer.unref();
    return () => clearTimeout(timer);
  }
}

/** What `onLost: 'throw'` ends the call with; asked before the release, which ends the lease as well. */
export function lossOf(lease: Lease, { onLost }: ResolvedLockOptions, label: string): Error | undefined {
  if (onLost !== 'throw' || lease.isHeld()) return undefined;
  const reason: unknown = lease.signal.aborted ? lease.signal.reason : undefined;
  if (isLockError(reason)) return reason;
  return new LeaseLostError(`The lease of ${label} ended while its work ran.`, {
    fencingToken: lease.fencingToken,
    reason: 'blocked',
  });
}
