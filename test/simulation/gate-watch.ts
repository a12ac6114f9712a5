import type { Hold } from './hold.js';
import type { World } from './world.js';

/** Readers of one moment start one after the other. */
const MOMENT_MS = 2;

/** Watches the gates of reading processes: no reader enters after the process was notified of a waiting writer. */
export class GateWatch {
  /** Tokens whose process knows of a waiting writer. */
  private readonly shut = new Set<string>();
  /** Number of notifications by token. Times do not order the events that a stopped process receives at its end. */
  private readonly warnings = new Map<string, number>();
  private readonly firstAt = new Map<string, number>();

  constructor(private readonly world: World) {}

  closed(ownerToken: string): void {
    this.warnings.set(ownerToken, this.warningsOf(ownerToken) + 1);
    this.shut.add(ownerToken);
  }

  warningsOf(ownerToken: string): number {
    return this.warnings.get(ownerToken) ?? 0;
  }

  /** A renewal that was sent after this number of notifications reports that no writer waits. */
  opened(ownerToken: string, warnings: number): void {
    if (this.warningsOf(ownerToken) === warnings) this.shut.delete(ownerToken);
  }

  /** All waiting readers start together with the lease; later readers wait for the next lease. */
  started({ ownerToken, pendingCall }: Hold): void {
    const { now } = this.world.timeline;
    const first = this.firstAt.get(ownerToken) ?? now;
    this.firstAt.set(ownerToken, first);
    // A multi-key caller entered before, and waited for another key since.
    if (pendingCall.keys !== undefined || now <= first + MOMENT_MS || !this.shut.has(ownerToken)) return;
    this.world.fail('a reader entered although its process knew of a writer', pendingCall.label);
  }
}
