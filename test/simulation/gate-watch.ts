import type { Hold } from './hold.js';
import type { World } from './world.js';

/** Readers of one moment start one after the other. */
const MOMENT_MS = 2;

/** Watches the gates of processes that read: nobody comes in once the process was told that a writer waits. */
export class GateWatch {
  /** When the process of this token was told, on the world's time. */
  private readonly closedAt = new Map<string, number>();
  private readonly firstAt = new Map<string, number>();

  constructor(private readonly world: World) {}

  closed(ownerToken: string): void {
    this.closedAt.set(ownerToken, this.world.timeline.now);
  }

  /** A renewal that was sent then says that nobody waits. */
  opened(ownerToken: string, sentAt: number): void {
    if ((this.closedAt.get(ownerToken) ?? Infinity) < sentAt) this.closedAt.delete(ownerToken);
  }

  /** All who wait when the lease comes start together; whoever comes later waits for the next one. */
  started({ ownerToken, question }: Hold): void {
    const { now } = this.world.timeline;
    const first = this.firstAt.get(ownerToken) ?? now;
    this.firstAt.set(ownerToken, first);
    // Whoever takes several keys came in before, and waited for the other one.
    if (question.keys !== undefined || now <= first + MOMENT_MS || !this.closedAt.has(ownerToken)) return;
    this.world.fail('a reader came in while its process knew of a writer', question.label);
  }
}
