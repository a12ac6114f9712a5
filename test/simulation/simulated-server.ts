import type {
  AcquireAllAnswer,
  AcquireAnswer,
  AcquireRequest,
  DowngradeRequest,
  LockMessage,
  LockName,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../../libs/distribute-lock/src/store/lock-store.js';
import { LockTable } from '../../libs/distribute-lock/src/store/memory/lock-table.js';
import { READERS } from '../../libs/distribute-lock/src/store/lock-value.js';
import { isReader } from '../../libs/distribute-lock/src/store/memory/table-state.js';
import { SemaphoreTable } from '../../libs/distribute-lock/src/store/memory/semaphore-table.js';
import { HEARTBEAT_MS } from '../../libs/distribute-lock/src/engine/heartbeat.js';
import type { SimulatedTableHost, Tables } from './tables.js';
import { nextOf, ReadWriteWatch } from './read-write-watch.js';
import { SemaphoreWatch } from './semaphore-watch.js';
import { EXECUTION_LIMIT_MS } from '../../libs/distribute-lock/src/store/protocol.js';
import { TooLate } from './simulated-connection.js';
import type { SimulatedInbox } from './simulated-inbox.js';
import type { World } from './world.js';

/** The start of the clock of the server. */
const EPOCH_MS = 1e9;
/** Fencing tokens ahead of the clock: those of a few blocks of one moment. */
const MOST_AHEAD = 1_000;
const AWAY_AFTER_FLUSH_MS = 1.5;

/** In some histories the wall clock of the server is set forward or back, each time by this much at most. */
const STEPS_MS = [0, -150, 100, -50, 150] as const;
const STEP_EVERY_MS = 3_000;
const STEPPING = 4;

/** When a command was sent, and its deadline on the wall clock of the server. */
export interface Sent {
  readonly deadlineMs: number;
  readonly sentAt: number;
}

/** The server: the table, the subscribers, and rules for every command. */
export class SimulatedServer {
  readonly table: LockTable;
  readonly semaphores: SemaphoreTable;
  readonly inboxes = new Map<string, SimulatedInbox>();
  /** Owner tokens whose lock the server has lost, and when. Their holders cannot know of it yet. */
  readonly forgotten = new Map<string, number>();
  /** Owner tokens that released their lock while they held it. */
  readonly givenBack = new Set<string>();
  /** The read token of each downgraded writer. */
  readonly readTokens = new Map<string, string>();
  /** The order in which tokens arrived at their keys. */
  readonly ranks = new Map<string, number>();
  private arrivals = 0;
  /** Tokens that have had a lease. */
  private readonly granted = new Set<string>();
  awayUntil = 0;
  private readonly watch: SemaphoreWatch;
  private readonly lockWatch: ReadWriteWatch;
  /** The sender of the current command. */
  private speaking = '';

  constructor(
    private readonly world: World,
    { makeTable, makeSemaphores }: Tables,
  ) {
    const tableHost: SimulatedTableHost = {
      now: () => this.now(),
      clientNow: () => EPOCH_MS + (world.processes.find(({ id }) => this.speaking.startsWith(id))?.now() ?? 0),
      publish: (processId, message) => this.publish(processId, message),
      counted: world.plan.counted,
    };
    this.table = makeTable(tableHost);
    this.semaphores = makeSemaphores(tableHost, this.table);
    this.watch = new SemaphoreWatch(world, this.semaphores);
    this.lockWatch = new ReadWriteWatch(world, this.table);
  }

  /** The clock of the server. */
  now(): number {
    return EPOCH_MS + this.world.timeline.now;
  }

  /** The reply to TIME. Leases use a clock that is never set, because a step of it may break them. */
  wallClock(): number {
    const { timeline, plan } = this.world;
    if (plan.seed % STEPPING !== 0) return this.now();
    return this.now() + STEPS_MS[Math.floor(timeline.now / STEP_EVERY_MS) % STEPS_MS.length];
  }

  acquire(request: AcquireRequest, counted: boolean, sent: Sent): AcquireAnswer | TooLate {
    if (this.isLate(sent)) return new TooLate(this.wallClock());
    // A token that has left the queue arrives again.
    if (!this.stands(request)) this.ranks.delete(request.ownerToken);
    const answer = this.isSemaphore(request)
      ? this.watch.during(request, undefined, () => this.semaphores.acquire(request))
      : this.lockWatch.during(request, [], () => this.table.acquire(request, counted));
    if (answer.outcome !== 'busy') this.rank(request.ownerToken);
    if (answer.outcome !== 'busy') this.hadEffect(request, sent);
    if (answer.outcome === 'granted') {
      this.granted.add(request.ownerToken);
      this.numbered(answer.fencingToken, request.block);
    }
    return answer;
  }

  acquireAll(requests: readonly AcquireRequest[], sent: Sent): AcquireAllAnswer | TooLate {
    if (this.isLate(sent)) return new TooLate(this.wallClock());
    const isOwn = ({ key, ownerToken }: LockName): boolean => this.table.owner(key) === ownerToken;
    const before = requests.filter(isOwn);
    const isWaited = requests.some((request) => !isOwn(request) && this.table.queued(request.key).length > 0);
    const answer = this.table.acquireAll(requests);
    const { length } = answer.outcome === 'granted' ? requests : before;
    const whose = requests[0].ownerToken;
    if (requests.filter(isOwn).length !== length)
      this.world.fail('a multi-key call acquired only some of its keys', whose);
    if (answer.outcome === 'busy') return answer;
    if (isWaited) this.world.fail('a multi-key call overtook a waiter', whose);
    this.hadEffect(requests[0], sent);
    for (const { ownerToken } of requests) {
      this.rank(ownerToken);
      this.granted.add(ownerToken);
    }
    this.numbered(answer.fencingTokens[0], requests.length);
    return answer;
  }

  release(wanted: ReleaseRequest, sent: Sent): ReleaseAnswer {
    const { next, grantOwn, ...late } = wanted;
    const request: ReleaseRequest = this.isLate(sent) ? late : wanted;
    const answer = this.isSemaphore(request)
      ? this.watch.during(request, nextOf(request), () => this.semaphores.release(request))
      : this.guarded(request, [nextOf(request)], () => this.table.release(request));
    if (answer.outcome !== 'lost') this.givenBack.add(request.ownerToken);
    // A lease that ended before its release leaves no message, so waiters notice at their next heartbeat.
    else if (this.isOver(request)) this.world.trouble(HEARTBEAT_MS);
    if (answer.outcome !== 'lost' && request.next !== undefined) {
      this.rank(request.next.ownerToken);
      this.hadEffect(request.next, sent);
    }
    if (answer.outcome === 'granted') {
      const { fencingToken, ownerToken } = answer;
      this.granted.add(ownerToken);
      this.numbered(fencingToken, (next ?? grantOwn)!.block);
    }
    return answer;
  }

  renew(request: RenewRequest): Exclude<RenewAnswer, Error> {
    return this.isSemaphore(request)
      ? this.watch.during(request, undefined, () => this.semaphores.renew(request))
      : this.guarded(request, [], () => this.table.renew(request));
  }

  downgrade(request: DowngradeRequest): Exclude<RenewAnswer, Error> {
    const { ownerToken, readToken } = request;
    this.speaking = ownerToken;
    const answer = this.guarded(request, [readToken], () => this.table.downgrade(request));
    if (typeof answer === 'number') {
      this.readTokens.set(ownerToken, readToken);
      this.granted.add(readToken);
    }
    return answer;
  }

  /** Whether the fast script delegates this attempt to the script for readers. */
  leavesAcquire({ key, wait }: AcquireRequest): boolean {
    const owner = this.table.owner(key);
    return owner === undefined ? this.table.queued(key).some(isReader) : owner === READERS && wait;
  }

  leavesRelease({ key, ownerToken }: ReleaseRequest): boolean {
    const owner = this.table.owner(key);
    return owner === READERS || (owner === ownerToken && this.table.queued(key).some(isReader));
  }

  /** Milliseconds until the lock of this token ends; undefined when another owner has it. */
  leftMs(key: string, ownerToken: string): number | undefined {
    const permitted = this.semaphores.live(key).get(ownerToken);
    if (permitted !== undefined) return permitted - EPOCH_MS - this.world.timeline.now;
    const readToken = this.readTokens.get(ownerToken);
    const left = this.table.leaseLeftMs(key, ownerToken);
    return left === undefined && readToken !== undefined ? this.table.leaseLeftMs(key, readToken) : left;
  }

  /** Whether a foreign client has the lock. */
  isForeign(key: string): boolean {
    const owner = this.table.owner(key);
    return owner !== undefined && !/^(p|semaphore:|readers$)/.test(owner);
  }

  /** Writes the key as a foreign client or an operator does, with any holder. */
  overwrite(key: string, owner: string | undefined, ttlMs?: number): void {
    this.forget(key);
    this.table.overwrite(key, owner, ttlMs);
  }

  /** Loses all data. The server replies again after a short time. */
  flush(): void {
    for (const key of this.table.keys()) this.forget(key);
    this.table.flush();
    this.semaphores.flush();
    this.awayUntil = this.world.timeline.now + AWAY_AFTER_FLUSH_MS;
  }

  private forget(key: string): void {
    const owner = this.table.owner(key);
    if (owner === undefined) return;
    const readers = this.table.readers(key).map(({ ownerToken }) => ownerToken);
    for (const ownerToken of [owner, ...readers, ...this.semaphores.live(key).keys()]) {
      this.forgotten.set(ownerToken, this.world.timeline.now);
    }
    // The process does not know yet that it is a reader.
    for (const [ownerToken, readToken] of this.readTokens) {
      if (readers.includes(readToken)) this.forgotten.set(ownerToken, this.world.timeline.now);
    }
  }

  private isLate({ deadlineMs }: Sent): boolean {
    return this.wallClock() > deadlineMs;
  }

  /** The last undo of an unanswered acquire relies on this. */
  private hadEffect({ ownerToken }: Pick<LockName, 'ownerToken'>, { sentAt }: Sent): void {
    const steppedMs = this.world.plan.seed % STEPPING === 0 ? Math.max(...STEPS_MS) - Math.min(...STEPS_MS) : 0;
    if (this.world.timeline.now - sentAt > EXECUTION_LIMIT_MS + steppedMs) {
      this.world.fail('an acquire took effect after its deadline', ownerToken);
    }
  }

  /** Whether the token had a lease of the key that ended without a release, and the key is free. */
  private isOver({ key, ownerToken }: LockName): boolean {
    const held = this.granted.has(ownerToken) && !this.givenBack.has(ownerToken);
    return held && this.table.owner(key) === undefined;
  }

  /** Whether the token holds the lock or waits for it. */
  private stands({ key, ownerToken }: LockName): boolean {
    if (this.leftMs(key, ownerToken) !== undefined) return true;
    return this.table.queued(key).includes(ownerToken) || this.semaphores.queued(key).includes(ownerToken);
  }

  private rank(ownerToken: string): void {
    if (!this.ranks.has(ownerToken)) this.ranks.set(ownerToken, (this.arrivals += 1));
  }

  /** Tokens ahead of the clock would be issued again after the counter is lost. */
  private numbered(first: number, block: number): void {
    if (first + block > (EPOCH_MS + this.world.timeline.now) * 1_000 + MOST_AHEAD) {
      this.world.fail('fencing tokens are issued faster than the clock runs');
    }
  }

  private isSemaphore({ kind, ownerToken }: LockName): boolean {
    this.speaking = ownerToken;
    return kind === 'semaphore';
  }

  /** A release or renewal never acquires a free lock. */
  private guarded<T>(request: LockName, own: readonly (string | undefined)[], command: () => T): T {
    const free = this.table.owner(request.key) === undefined;
    const answer = this.lockWatch.during(request, own, command);
    if (free && this.table.owner(request.key) !== undefined) {
      this.world.fail('a command changed the lock of another holder', request.ownerToken);
    }
    return answer;
  }

  /** An offer reached no subscriber. A process that subscribes now notices it at its next heartbeat. */
  private unheard(processId: string): void {
    const { plan, processes } = this.world;
    if (plan.counted) return;
    if (processes.some(({ id, plan: { deaf } }) => id === processId && !deaf)) this.world.trouble(HEARTBEAT_MS);
  }

  private publish(processId: string, message: LockMessage): number {
    const inbox = this.inboxes.get(processId);
    if (inbox !== undefined) return inbox.deliver(message);
    if (message.type === 'granted') this.unheard(processId);
    return 0;
  }
}
