import type { LockName } from '../../libs/distribute-lock/src/store/lock-store.js';
import type { SemaphoreTable } from '../../libs/distribute-lock/src/store/memory/semaphore-table.js';
import type { World } from './world.js';

/** Watches rules that hold for every command of a semaphore and every sender. */
export class SemaphoreWatch {
  constructor(
    private readonly world: World,
    private readonly semaphores: SemaphoreTable,
  ) {}

  /** Compares the semaphore before and after the command. The command may change the lease of the token `next`. */
  during<T>(request: LockName, next: string | undefined, command: () => T): T {
    const { key } = request;
    const leases = new Map(this.semaphores.live(key));
    const queue = [...this.semaphores.queued(key)];
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
    const after = this.semaphores.live(key);
    for (const [other, endsAt] of before) {
      if (other === ownerToken || other === next || after.get(other) === endsAt) continue;
      this.world.fail('a command changed the lease of another holder', `${ownerToken} that of ${other}`);
    }
  }

  /** A served caller must have been before all callers that still wait. */
  private checkTurns(key: string, before: ReadonlyMap<string, number>, queue: readonly string[]): void {
    const waiting = this.semaphores.queued(key);
    const first = queue.findIndex((ownerToken) => waiting.includes(ownerToken));
    if (first < 0) return;
    for (const served of this.semaphores.live(key).keys()) {
      const place = queue.indexOf(served);
      if (before.has(served) || (place >= 0 && place < first)) continue;
      this.world.fail('a caller overtook the head of the queue', `${served} passed ${queue[first]}`);
    }
  }
}
