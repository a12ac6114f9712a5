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
import { READERS } from '../../libs/distribute-lock/src/store/lock-value.js';
import { isReadToken } from '../../libs/distribute-lock/src/store/protocol/host.js';
import { HEARTBEAT_MS } from '../../libs/distribute-lock/src/engine/heartbeat.js';
import { nextOf, ReadWriteWatch } from './read-write-watch.js';
import { SemaphoreWatch } from './semaphore-watch.js';
import { EXECUTION_LIMIT_MS } from '../../libs/distribute-lock/src/store/protocol.js';
import { TooLate } from './simulated-connection.js';
import type { SimulatedInbox } from './simulated-inbox.js';
import { SimulatedLocks, type LocksByRules } from './simulated-locks.js';
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

/** The server: its locks, the subscribers, and what holds for every command. */
export class SimulatedServer {
  readonly locks: SimulatedLocks;
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

  constructor(
    private readonly world: World,
    Locks?: LocksByRules,
  ) {
    const host = {
      now: () => this.now(),
      publish: (processId: string, message: LockMessage) => this.publish(processId, message),
    };
    this.locks = new SimulatedLocks(host, world.plan.counted, Locks);
    this.watch = new SemaphoreWatch(world, this.locks);
    this.lockWatch = new ReadWriteWatch(world, this.locks);
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
    const command = (): AcquireAnswer => this.locks.byRules.acquire(request, counted);
    const answer = isSemaphore(request)
      ? this.watch.during(request, undefined, command)
      : this.lockWatch.during(request, [], command);
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
    const isOwn = ({ key, ownerToken }: LockName): boolean => this.locks.owner(key) === ownerToken;
    const before = requests.filter(isOwn);
    const isWaited = requests.some((request) => !isOwn(request) && this.locks.queued(request.key).length > 0);
    const answer = this.locks.byRules.acquireAll(requests);
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
    const command = (): ReleaseAnswer => this.locks.byRules.release(request);
    const answer = isSemaphore(request)
      ? this.watch.during(request, nextOf(request), command)
      : this.guarded(request, [nextOf(request)], command);
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

  renew(request: RenewRequest): RenewAnswer {
    const command = (): RenewAnswer => this.locks.byRules.renew(request);
    if (isSemaphore(request)) return this.watch.during(request, undefined, command);
    const answer = this.guarded(request, [], command);
    this.lockWatch.checkRenewal(request, answer);
    return answer;
  }

  downgrade(request: DowngradeRequest): RenewAnswer {
    const { ownerToken, readToken } = request;
    const answer = this.guarded(request, [readToken], () => this.locks.byRules.downgrade(request));
    this.lockWatch.checkRenewal(request, answer);
    if (typeof answer === 'number') {
      this.readTokens.set(ownerToken, readToken);
      this.granted.add(readToken);
    }
    return answer;
  }

  /** Whether the fast script delegates this attempt to the script for readers. */
  leavesAcquire({ key, wait }: AcquireRequest): boolean {
    const owner = this.locks.owner(key);
    return owner === undefined ? this.locks.queued(key).some(isReadToken) : owner === READERS && wait;
  }

  leavesRelease({ key, ownerToken }: ReleaseRequest): boolean {
    const owner = this.locks.owner(key);
    return owner === READERS || (owner === ownerToken && this.locks.queued(key).some(isReadToken));
  }

  /** Milliseconds until the lock of this token ends; undefined when another owner has it. */
  leftMs(key: string, ownerToken: string): number | undefined {
    const readToken = this.readTokens.get(ownerToken);
    const left = this.locks.leaseLeftMs(key, ownerToken);
    return left === undefined && readToken !== undefined ? this.locks.leaseLeftMs(key, readToken) : left;
  }

  /** Whether a foreign client has the lock. */
  isForeign(key: string): boolean {
    const owner = this.locks.owner(key);
    return owner !== undefined && !/^(p|semaphore:|readers$)/.test(owner);
  }

  /** Writes the key as a foreign client or an operator does, with any holder. */
  overwrite(key: string, owner: string | undefined, ttlMs?: number): void {
    this.forget(key);
    this.locks.overwrite(key, owner, ttlMs);
  }

  /** Loses all data. The server replies again after a short time. */
  flush(): void {
    for (const key of this.locks.keys()) this.forget(key);
    this.locks.flush();
    this.awayUntil = this.world.timeline.now + AWAY_AFTER_FLUSH_MS;
  }

  private forget(key: string): void {
    const owner = this.locks.owner(key);
    if (owner === undefined) return;
    this.world.recorder.run({ type: 'data-lost', name: 'simulated', from: this.world.timeline.now, key });
    const readers = [...this.locks.readers(key).keys()];
    for (const ownerToken of [owner, ...readers, ...this.locks.permits(key).keys()]) {
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
    return held && this.locks.isFree(key);
  }

  /** Whether the token holds the lock or waits for it. */
  private stands({ key, ownerToken }: LockName): boolean {
    if (this.leftMs(key, ownerToken) !== undefined) return true;
    return this.locks.queued(key).includes(ownerToken) || this.locks.permitsQueued(key).includes(ownerToken);
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

  /** A release or renewal never acquires a free lock. */
  private guarded<T>(request: LockName, own: readonly (string | undefined)[], command: () => T): T {
    const free = this.locks.owner(request.key) === undefined;
    const answer = this.lockWatch.during(request, own, command);
    if (free && this.locks.owner(request.key) !== undefined) {
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

const isSemaphore = ({ kind }: LockName): boolean => kind === 'semaphore';
