import type { Hold } from './hold.js';
import type { World } from './world.js';

/** Readers of one moment start one after the other. */
const MOMENT_MS = 2;

/** Watches the gates of reading processes: no reader enters after the process was notified of a waiting writer. */
export class GateWatch {
  /** When the process of this token was notified, in simulated time. */
  private readonly closedAt = new Map<string, number>();
  private readonly firstAt = new Map<string, number>();

  constructor(private readonly world: World) {}

  closed(ownerToken: string): void {
    this.closedAt.set(ownerToken, this.world.timeline.now);
  }

  /** A renewal that was sent at that time reports that no writer waits. */
  opened(ownerToken: string, sentAt: number): void {
    if ((this.closedAt.get(ownerToken) ?? Infinity) < sentAt) this.closedAt.delete(ownerToken);
  }

  /** All waiting readers start together with the lease; later readers wait for the next lease. */
  started({ ownerToken, pendingCall }: Hold): void {
    const { now } = this.world.timeline;
    const first = this.firstAt.get(ownerToken) ?? now;
    this.firstAt.set(ownerToken, first);
    // A multi-key caller entered before, and waited for another key since.
    if (pendingCall.keys !== undefined || now <= first + MOMENT_MS || !this.closedAt.has(ownerToken)) return;
    this.world.fail('a reader entered although its process knew of a writer', pendingCall.label);
  }
}
