import { runHolding } from '../../lease/held-leases.js';
import type { Lease } from '../../lease/lease.js';
import { throwIfLost } from '../../lease/on-lost.js';
import type { ResolvedLockOptions } from '../../options/lock-options.js';
import type { CallScope } from './call-scope.js';

/** A lease that lives on while the result of a method is being handed out. */
export class Hold {
  private ending: Promise<void> | undefined;

  constructor(
    private readonly lease: Lease,
    private readonly options: ResolvedLockOptions,
    /** What messages call the lock. */
    readonly name: string,
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
   * @throws LeaseLostError with `onLost: 'throw'`, when the lease was lost before, also when only the release finds that
   */
  async complete(): Promise<void> {
    if (this.ended) return;
    await this.release();
    throwIfLost(this.lease, this.options);
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
