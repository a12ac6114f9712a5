import type { LockName } from '../../libs/distribute-lock/src/store/lock-store.js';
import type { SimulatedLocks } from './simulated-locks.js';
import type { World } from './world.js';

/** Watches rules that hold for every command of a semaphore and every sender. */
export class SemaphoreWatch {
  constructor(
    private readonly world: World,
    private readonly locks: SimulatedLocks,
  ) {}

  /** Compares the semaphore before and after the command. The command may change the lease of the token `next`. */
  during<T>(request: LockName, next: string | undefined, command: () => T): T {
    const { key } = request;
    const leases = this.locks.permits(key);
    const queue = this.locks.permitsQueued(key);
    const answer = command();
    this.checkOthers(request, next, leases);
    this.checkTurns(key, leases, queue);
    return answer;
  }

  /** The leases of others must not change. */
  private checkOthers(
    { key, ownerToken }: LockName,
    next: string | undefined,
    before: ReadonlyMap<string, number>,
  ): void {
    const after = this.locks.permits(key);
    for (const [other, endsAt] of before) {
      if (other === ownerToken || other === next || after.get(other) === endsAt) continue;
      this.world.fail('a command changed the lease of another holder', `${ownerToken} that of ${other}`);
    }
  }

  /** A served caller must have been before all callers that still wait. */
  private checkTurns(key: string, before: ReadonlyMap<string, number>, queue: readonly string[]): void {
    const waiting = this.locks.permitsQueued(key);
    const first = queue.findIndex((ownerToken) => waiting.includes(ownerToken));
    if (first < 0) return;
    for (const served of this.locks.permits(key).keys()) {
      const place = queue.indexOf(served);
      if (before.has(served) || (place >= 0 && place < first)) continue;
      this.world.fail('a caller overtook the head of the queue', `${served} passed ${queue[first]}`);
    }
  }
}
