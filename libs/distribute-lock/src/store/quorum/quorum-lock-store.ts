import { processClock, type Clock } from '../../runtime/clock.js';
import { Timed, TimerLanes } from '../../runtime/timer-lanes.js';
import { GRACE_MS } from '../abandoned-tokens.js';
import type {
  AcquireAnswer,
  AcquireRequest,
  LockKind,
  LockName,
  LockStore,
  LockStoreListener,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../lock-store.js';
import { Ballot, NOBODY } from './ballot.js';
import { BallotTokens, ownerOf } from './ballot-tokens.js';
import { Candidate, type Answer } from './candidate.js';
import { connectNodes } from './connect-nodes.js';
import { NodeInboxes, type NodeInbox } from './node-inboxes.js';
import type { NodeLine } from './node-line.js';
import { noMajority } from './poll.js';
import { QuorumNode } from './quorum-node.js';

/** While nobody is known to hold the lock, a caller that does not wait is not told "busy" before it has tried so often, or so long. */
const TRIES_OF_IMPATIENT = 6;
const PATIENCE_OF_IMPATIENT_MS = 300;
/** Those who wait behind one holder do not all ask in the millisecond in which its lease ends. */
const SPREAD_MS = 50;
/** How long the process that was told of a release has to take the lock, before the releasing one asks again. */
const TURN_MS = 250;

/** The way to a node, and the messages that come from there. */
export interface QuorumMember {
  readonly line: NodeLine;
  readonly inbox: NodeInbox;
}

class Pause extends Timed {
  constructor(readonly due: () => void) {
    super();
  }

  override forgotten(): void {
    this.due();
  }
}

/**
 * Locks on a majority of independent primaries. A lock is held by whoever has the votes of more than half of them; a vote is a key of its
 * own with the lease's TTL. There is no hand-over: whoever waits is told of a release, and tries.
 */
export class QuorumLockStore implements LockStore {
  readonly kinds: ReadonlySet<LockKind> = new Set(['exclusive']);
  readonly ordered = false;
  private readonly nodes: readonly QuorumNode[];
  private readonly inboxes: NodeInboxes;
  private readonly candidates = new Map<string, Candidate>();
  private readonly tokens = new BallotTokens();
  private readonly lanes: TimerLanes;
  private listener: LockStoreListener | undefined;

  constructor(
    private readonly members: readonly QuorumMember[],
    private readonly clock: Clock = processClock,
    private readonly random: () => number = Math.random,
  ) {
    this.lanes = new TimerLanes(clock);
    const dropped = (count: number): void => this.listener?.dropped?.(count);
    this.nodes = members.map(({ line }) => new QuorumNode(line, clock, this.lanes, dropped));
    this.inboxes = new NodeInboxes(
      members.map(({ inbox }) => inbox),
      this.lanes,
    );
  }

  connect(): Promise<void> {
    return connectNodes(this.nodes);
  }

  async subscribe(processId: string, listener: LockStoreListener): Promise<boolean> {
    this.listener = listener;
    await this.inboxes.open(processId, {
      // Only votes grant a lock, and only their replies bring fencing tokens.
      message: ({ type, key, ownerToken }) => listener.message({ type, key, ownerToken: ownerOf(ownerToken) }),
      unreadable: () => listener.unreadable?.(),
      unsubscribed: () => listener.unsubscribed?.(),
      resubscribed: () => listener.resubscribed(),
    });
    return true;
  }

  messagesExpected(expected: boolean): void {
    this.inboxes.messagesExpected(expected);
  }

  messageMissed(): void {
    this.inboxes.messageMissed();
  }

  async acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    const candidate = this.candidateOf(request);
    const answer = await this.compete(candidate, request);
    if (answer.granted) {
      const { fencingToken, waiting } = answer;
      this.keep(candidate);
      return { outcome: 'granted', fencingToken, waiting };
    }
    const { held, foreign, remainingMs } = answer;
    if (request.wait)
      return { outcome: 'queued', remainingMs: this.lookAfterMs(candidate, answer), foreign: held && foreign };
    // Nobody speaks of it again.
    if (!candidate.over) this.forget(request);
    return { outcome: 'busy', remainingMs, foreign };
  }

  async release(request: ReleaseRequest): Promise<ReleaseAnswer> {
    const { next } = request;
    const candidate = this.candidates.get(nameOf(request));
    const ballot = candidate?.ballot ?? this.strange(request);
    const granted = candidate?.granted === true;
    if (candidate !== undefined) candidate.over = true;
    if (next !== undefined) this.candidateOf({ ...request, ownerToken: next.ownerToken }).queuedEverywhere();
    const end = await ballot.release(granted, next?.ownerToken ?? NOBODY);
    // The caller asks again; an attempt is abandoned from here, node by node.
    if (granted && (end.outcome === 'failed' || end.outcome === 'mixed')) throw noMajority(end);
    this.forget(request);
    if (end.outcome !== 'yes') return { outcome: 'lost', resent: end.resent || end.outcome !== 'no' };
    if (!end.replies.some(([, told]) => told === 1)) return { outcome: 'free' };
    return next === undefined ? { outcome: 'passed' } : { outcome: 'queued', remainingMs: this.turnMs() };
  }

  renew(requests: readonly RenewRequest[]): Promise<readonly RenewAnswer[]> {
    return Promise.all(requests.map((request) => this.renewOne(request)));
  }

  async close(): Promise<void> {
    this.lanes.close();
    this.inboxes.close();
    for (const { line } of this.members) line.close();
  }

  async renewOne(request: RenewRequest): Promise<RenewAnswer> {
    const candidate = this.candidates.get(nameOf(request));
    const ballot = candidate?.ballot ?? this.strange(request);
    const end = await ballot.renew(request.ttlMs, request.exact);
    if (candidate?.over === false) this.keep(candidate);
    if (end.outcome === 'no') return 'lost';
    if (end.outcome !== 'yes') return noMajority(end);
    return Math.max(...end.replies.map(([, waiting]) => waiting));
  }

  private async compete(candidate: Candidate, request: AcquireRequest): Promise<Answer> {
    const until = this.clock.now() + PATIENCE_OF_IMPATIENT_MS;
    for (let tries = 1; ; tries += 1) {
      const answer = await this.run(candidate, request);
      if (answer.granted || answer.held || request.wait) return answer;
      if (tries === TRIES_OF_IMPATIENT || this.clock.now() > until) return answer;
      await new Promise<void>((resolve) => this.lanes.add(new Pause(resolve), candidate.pauseMs()));
      if (candidate.over) return answer;
    }
  }

  private async run(candidate: Candidate, request: AcquireRequest): Promise<Answer> {
    try {
      return await candidate.run(request);
    } finally {
      // An attempt that was never sent is not released.
      if (!candidate.sent) this.forget(request);
    }
  }

  /** When whoever waits should look again, if no message comes before. */
  private lookAfterMs(candidate: Candidate, { held, remainingMs }: Extract<Answer, { granted: false }>): number {
    if (!held) return candidate.pauseMs();
    return remainingMs < 0 ? remainingMs : remainingMs + Math.ceil(this.random() * SPREAD_MS);
  }

  private turnMs(): number {
    return Math.ceil(TURN_MS * (0.4 + 0.6 * this.random()));
  }

  private candidateOf(name: LockName): Candidate {
    const { key, ownerToken } = name;
    let candidate = this.candidates.get(nameOf(name));
    if (candidate === undefined) {
      const nextBallot = (before?: Ballot): Ballot =>
        new Ballot(this.nodes, key, ownerToken, this.tokens.next(ownerToken), before);
      candidate = new Candidate(nextBallot, this.clock, this.random, () => this.forget(name));
      this.candidates.set(nameOf(name), candidate);
    }
    return candidate;
  }

  /** Not every lease is released: some end with their ttl, or while no majority hears of it. */
  private keep(candidate: Candidate): void {
    this.lanes.add(candidate, candidate.ballot.ttlMs + GRACE_MS);
  }

  private forget(name: LockName): void {
    const candidate = this.candidates.get(nameOf(name));
    if (candidate === undefined) return;
    this.lanes.remove(candidate);
    this.candidates.delete(nameOf(name));
  }

  /** Of an owner that has no votes from here; it may stand in queues. */
  private strange({ key, ownerToken }: LockName): Ballot {
    return new Ballot(this.nodes, key, ownerToken, ownerToken).adopt();
  }
}

/** An owner token has no space in it. */
const nameOf = ({ key, ownerToken }: LockName): string => `${ownerToken} ${key}`;
