import type {
  AcquireAnswer,
  AcquireRequest,
  LockMessage,
  ReleaseAnswer,
  ReleaseRequest,
  RenewRequest,
} from '../../libs/distribute-lock/src/store/lock-store.js';
import { LockTable } from '../../libs/distribute-lock/src/store/memory/lock-table.js';
import type { TableWorld } from '../../libs/distribute-lock/src/store/memory/table-state.js';
import type { SimulatedInbox } from './simulated-inbox.js';
import type { World } from './world.js';

/** The server's clock starts somewhere, like any clock. */
const EPOCH_MS = 1e9;
/** Fencing tokens in hand before the clock catches up with them: what a few blocks of one moment take. */
const MOST_AHEAD = 1_000;
const AWAY_AFTER_FLUSH_MS = 1.5;

/** Whatever takes the part of the lock table; broken ones are made in `mutants.ts`. */
export type MakeTable = (world: TableWorld) => LockTable;

/** The one server: the table, who listens, and what a command may never do. */
export class SimulatedServer {
  readonly table: LockTable;
  readonly inboxes = new Map<string, SimulatedInbox>();
  /** Owner tokens whose lock the server has forgotten, and when: their holders cannot know yet. */
  readonly forgotten = new Map<string, number>();
  /** Owner tokens that gave their lock back while they had it. */
  readonly givenBack = new Set<string>();
  /** In which order tokens came to stand at a key. */
  readonly ranks = new Map<string, number>();
  awayUntil = 0;

  constructor(
    private readonly world: World,
    makeTable: MakeTable,
  ) {
    this.table = makeTable({
      now: () => EPOCH_MS + world.timeline.now,
      publish: (processId, message) => this.publish(processId, message),
    });
  }

  acquire(request: AcquireRequest): AcquireAnswer {
    const answer = this.table.acquire(request);
    if (answer.outcome !== 'busy') this.rank(request.ownerToken);
    if (answer.outcome === 'granted') this.numbered(answer.fencingToken, request.block);
    return answer;
  }

  release(request: ReleaseRequest): ReleaseAnswer {
    const unchanged = this.unchangedBy(request);
    const answer = this.table.release(request);
    unchanged?.();
    if (answer.outcome !== 'lost') this.givenBack.add(request.ownerToken);
    if (answer.outcome !== 'lost' && request.next !== undefined) this.rank(request.next.ownerToken);
    if (answer.outcome === 'granted') this.numbered(answer.fencingToken, (request.next ?? request.grantOwn)!.block);
    return answer;
  }

  renew(request: RenewRequest): number | 'lost' {
    const unchanged = this.unchangedBy(request);
    const answer = this.table.renew(request);
    unchanged?.();
    return answer;
  }

  /** In how many milliseconds the lock of this token ends; undefined when somebody else has it. */
  leftMs(key: string, ownerToken: string): number | undefined {
    if (this.table.owner(key) !== ownerToken) return undefined;
    const left = this.table.leftMs(key);
    return left < 0 ? Infinity : left;
  }

  /** Somebody has the lock who is not one of ours. */
  isForeign(key: string): boolean {
    const owner = this.table.owner(key);
    return owner !== undefined && !owner.startsWith('p');
  }

  /** A foreign client or a hand writes the key, no matter who holds it. */
  overwrite(key: string, owner: string | undefined, ttlMs?: number): void {
    this.forget(key);
    this.table.overwrite(key, owner, ttlMs);
  }

  /** A server that lost its data takes a moment before it answers again. */
  flush(): void {
    for (const key of this.table.keys()) this.forget(key);
    this.table.flush();
    this.awayUntil = this.world.timeline.now + AWAY_AFTER_FLUSH_MS;
  }

  private forget(key: string): void {
    const owner = this.table.owner(key);
    if (owner !== undefined) this.forgotten.set(owner, this.world.timeline.now);
  }

  private rank(ownerToken: string): void {
    if (!this.ranks.has(ownerToken)) this.ranks.set(ownerToken, this.ranks.size);
  }

  /** Numbers that outrun the clock would come again after the counter is lost. */
  private numbered(first: number, block: number): void {
    if (first + block > (EPOCH_MS + this.world.timeline.now) * 1_000 + MOST_AHEAD) {
      this.world.fail('fencing tokens are issued faster than the clock runs');
    }
  }

  /** A release or renewal by anybody but the holder leaves the lock as it is. */
  private unchangedBy({ key, ownerToken }: { key: string; ownerToken: string }): (() => void) | undefined {
    const owner = this.table.owner(key);
    if (owner === ownerToken) return undefined;
    const left = this.table.leftMs(key);
    return () => {
      if (this.table.owner(key) === owner && this.table.leftMs(key) === left) return;
      this.world.fail('a command of somebody who is not the holder changed the lock', `${ownerToken} of ${owner}`);
    };
  }

  private publish(processId: string, message: LockMessage): number {
    const receivers = this.inboxes.get(processId)?.deliver(message) ?? 0;
    return this.world.plan.counted ? receivers : 1;
  }
}
