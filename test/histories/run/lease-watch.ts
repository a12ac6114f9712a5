import { setMaxListeners } from 'node:events';

import { isLockError } from '../../../libs/distribute-lock/src/errors.js';
import type { Lease } from '../../../libs/distribute-lock/src/engine/lease/lease.js';
import { monotonicMs } from '../../support/monotonic.js';
import type { WorkerEvent } from '../event.js';
import { grantsOf } from './lease-facts.js';
import type { Recorder } from './recorder.js';

interface Watched {
  readonly lease: Lease;
  until: number;
}

/** Renewals change the end of a lease by more; sampling alone by less. */
const SAME_MS = 2;

/** The time that is left and the time at which it was read; a process that stands still in between reads both again. */
export function sampled(lease: Lease): { at: number; remaining: number } {
  for (;;) {
    const at = monotonicMs();
    const remaining = lease.remainingMs();
    if (monotonicMs() - at < SAME_MS) return { at, remaining };
  }
}

/** Records until when held leases are proven, so that the record exists before a process stops. */
export class LeaseWatch {
  private readonly leases = new Map<string, Watched>();
  private readonly unreleased = new Set<string>();

  constructor(private readonly recorder: Recorder<WorkerEvent>) {}

  granted(op: string, lease: Lease): void {
    const { at, remaining } = sampled(lease);
    const until = at + remaining;
    const tokens = Object.fromEntries(lease.fencingTokens);
    this.recorder.record({ type: 'granted', op, tokens, ...grantsOf(lease), until }, at);
    this.leases.set(op, { lease, until });
    this.unreleased.add(op);
    const { signal } = lease;
    setMaxListeners(0, signal); // nested calls share it
    const lost = (): void => {
      if (!this.unreleased.has(op)) return;
      const { reason: error } = signal;
      const code = isLockError(error) ? error.code : 'none';
      const reason = isLockError(error, 'LEASE_LOST') ? error.reason : undefined;
      this.recorder.record({ type: 'lost', op, code, reason, message: String(error) });
    };
    if (signal.aborted) lost();
    else signal.addEventListener('abort', lost, { once: true });
  }

  /** Called at the end of the work under the lease. */
  releases(op: string, lease: Lease): void {
    const at = monotonicMs();
    this.leases.delete(op);
    this.unreleased.delete(op);
    this.recorder.record({ type: 'release', op, held: lease.isHeld() }, at);
  }

  /** Called before `detach()`. */
  detaches(op: string, lease: Lease, ttlMs: number): void {
    const at = monotonicMs();
    this.leases.delete(op);
    this.recorder.record({ type: 'detach', op, ttlMs, held: lease.isHeld() }, at);
  }

  /** Records every held lease. */
  sample(): void {
    for (const [op, watched] of this.leases) {
      const { at, remaining } = sampled(watched.lease);
      if (remaining <= 0) {
        this.recorder.record({ type: 'not-held', op }, at);
        this.leases.delete(op);
        continue;
      }
      const until = at + remaining;
      if (Math.abs(until - watched.until) > SAME_MS) this.recorder.record({ type: 'proven', op, until }, at);
      watched.until = until;
    }
  }
}
