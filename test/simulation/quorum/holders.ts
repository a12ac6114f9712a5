import type { LeaseHandle } from '../../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import type { Recorder } from '../recorder.js';
import type { QuorumProcess } from './quorum-process.js';

interface Hold {
  readonly op: string;
  readonly process: QuorumProcess;
  /** The recorded end of its proof. */
  until: number;
}

/** Records the holders that rely on their locks. */
export class Holders {
  count = 0;
  private readonly held = new Map<LeaseHandle, Hold>();

  constructor(
    private readonly world: { readonly now: number; readonly recorder: Recorder },
    /** Nodes may forget their votes at any time: then two may hold a lock, but not for long. */
    private readonly forgetful: boolean,
  ) {}

  started(process: QuorumProcess, lease: LeaseHandle, op: string): void {
    this.count += 1;
    const { key, fencingToken, grant } = lease;
    if (this.forgetful) this.forget(lease, { op, process });
    const hold = { op, process, until: this.world.now + process.realMs(lease.remainingMs()) };
    this.world.recorder.record(process, {
      type: 'granted',
      op,
      tokens: { [key]: fencingToken },
      sentAt: { [key]: process.realMs(grant.startedAt - process.offset) },
      leases: { [key]: grant.passes },
      until: hold.until,
    });
    this.held.set(lease, hold);
  }

  ended(lease: LeaseHandle): void {
    const { process, op } = this.held.get(lease)!;
    this.world.recorder.record(process, { type: 'release', op, held: lease.isHeld() });
    this.held.delete(lease);
  }

  /** Records at every moment until when the leases are proven. */
  check(): void {
    const { now, recorder } = this.world;
    for (const [lease, hold] of this.held) {
      const { process, op } = hold;
      if (process.gone) this.held.delete(lease);
      else if (lease.isHeld()) {
        const until = now + process.realMs(lease.remainingMs());
        if (Math.abs(until - hold.until) > 1e-3) recorder.record(process, { type: 'proven', op, until });
        hold.until = until;
      } else if (hold.until > 0) {
        recorder.record(process, { type: 'lost', op, code: 'LEASE_LOST', message: '' });
        hold.until = 0;
      }
    }
  }

  /** Of two holders, the nodes have forgotten the votes of the earlier one. A local hand-over gives it a reserved fencing token. */
  private forget(lease: LeaseHandle, hold: Pick<Hold, 'op' | 'process'>): void {
    for (const [other, older] of this.held) {
      if (other.key !== lease.key || older.process.gone || !other.isHeld()) continue;
      const { op, process } = other.fencingToken < lease.fencingToken ? older : hold;
      this.world.recorder.record(process, { type: 'on-server', op, has: false });
    }
  }
}
