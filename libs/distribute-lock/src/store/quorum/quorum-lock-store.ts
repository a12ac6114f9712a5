import { processClock, type Clock } from '../../runtime/clock.js';
import { Deadline, Timers } from '../../runtime/timers.js';
import { GRACE_MS } from '../abandoned-tokens.js';
import type {
  AcquireAnswer,
  AcquireRequest,
  ConnectionListener,
  LockKind,
  LockName,
  LockStore,
  LockStoreListener,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../lock-store.js';
import { Ballot, NO_OWNER, BallotTokens, ownerOf } from './ballot.js';
import { Candidate, type CandidateResult } from './candidate.js';
import { connectNodes } from './connect-nodes.js';
import { Membership } from './membership.js';
import { NodeInboxes } from './node-inboxes.js';
import type { QuorumMember } from './node-connection.js';
import { noMajority } from './poll.js';
import { QuorumNode } from './quorum-node.js';

/**
 * While no owner is known to hold the lock, a non-waiting caller fails only after this number of attempts or this time.
 */
const NON_WAITING_TRIES = 6;
const NON_WAITING_LIMIT_MS = 300;
/** Spreads the attempts of waiters after a lease ends, so that they do not compete in the same millisecond. */
const SPREAD_MS = 50;
/** Time for a notified process to acquire the lock before the releasing process tries again. */
const TURN_MS = 250;

/**
 * Locks on a majority of independent primaries. The holder has the votes of more than half of them. A vote is a
 * separate key with the ttl of the lease. There is no hand-over: a release notifies waiters, which then try to acquire
 * the lock.
 */
export class QuorumLockStore implements LockStore {
  readonly kinds: ReadonlySet<LockKind> = new Set(['exclusive']);
  readonly ordered = false;
  private readonly nodes: readonly QuorumNode[];
  private readonly inboxes: NodeInboxes;
  private readonly membership: Membership;
  private readonly candidates = new Map<string, Candidate>();
  private readonly tokens = new BallotTokens();
  private readonly timers: Timers;
  private listener: LockStoreListener | undefined;

  constructor(
    private readonly members: readonly QuorumMember[],
    private readonly clock: Clock = processClock,
    private readonly random: () => number = Math.random,
  ) {
    this.timers = new Timers(clock);
    const dropped = (count: number): void => this.listener?.dropped?.(count);
    this.nodes = members.map(({ connection }) => new QuorumNode(connection, clock, this.timers, dropped));
    this.membership = new Membership(this.nodes, clock, this.timers);
    this.inboxes = new NodeInboxes(
      members.map(({ inbox }) => inbox),
      this.timers,
    );
  }

  connect(): Promise<void> {
    return connectNodes(this.nodes, this.membership, this.timers);
  }

  observeConnections(listener: ConnectionListener): void {
    for (const { connection } of this.members) connection.observeConnection?.(listener);
  }

  async subscribe(processId: string, listener: LockStoreListener): Promise<boolean> {
    this.listener = listener;
    await this.inboxes.open(processId, {
      message: (message) => listener.message({ ...message, ownerToken: ownerOf(message.ownerToken) }),
      unreadable: () => listener.unreadable?.(),
      unsubscribed: (reason) => listener.unsubscribed?.(reason),
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
    this.membership.allow(request.ttlMs);
    const candidate = this.candidateOf(request);
    const answer = await this.compete(candidate, request);
    if (answer.granted) {
      const { fencingToken, waiting } = answer;
      this.keep(candidate);
      return { outcome: 'granted', fencingToken, waiting };
    }
    const { held, foreign, remainingMs, trouble } = answer;
    if (trouble !== undefined) throw trouble;
    if (request.wait)
      return { outcome: 'queued', remainingMs: this.lookAfterMs(candidate, answer), foreign: held && foreign };
    // The owner sends no further command.
    if (!candidate.over) this.forget(request);
    return { outcome: 'busy', remainingMs, foreign };
  }

  async release(request: ReleaseRequest): Promise<ReleaseAnswer> {
    const { next } = request;
    const candidate = this.candidates.get(nameOf(request));
    const ballot = candidate?.ballot ?? this.unknownBallot(request);
    const granted = candidate?.granted === true;
    if (candidate !== undefined) candidate.over = true;
    if (next !== undefined) this.candidateOf({ ...request, ownerToken: next.ownerToken }).queuedEverywhere();
    const end = await ballot.release(granted, next?.ownerToken ?? NO_OWNER);
    // The caller repeats the release of a grant; an attempt is undone in the background, node by node.
    if (granted && (end.outcome === 'failed' || end.outcome === 'mixed')) throw noMajority(end);
    this.forget(request);
    if (end.outcome !== 'yes') return { outcome: 'lost', resent: end.resent || end.outcome !== 'no' };
    if (!end.replies.some(([, notified]) => notified === 1)) return { outcome: 'free' };
    return next === undefined ? { outcome: 'passed' } : { outcome: 'queued', remainingMs: this.turnMs() };
  }

  renew(requests: readonly RenewRequest[]): Promise<readonly RenewAnswer[]> {
    return Promise.all(requests.map((request) => this.renewOne(request)));
  }

  async close(): Promise<void> {
    this.membership.close();
    this.timers.close();
    this.inboxes.close();
    for (const { connection } of this.members) connection.close();
  }

  async renewOne(request: RenewRequest): Promise<RenewAnswer> {
    this.membership.allow(request.ttlMs);
    const candidate = this.candidates.get(nameOf(request));
    const ballot = candidate?.ballot ?? this.unknownBallot(request);
    const end = await ballot.renew(request.ttlMs, request.exact);
    if (candidate?.over === false) this.keep(candidate);
    if (end.outcome === 'no') return 'lost';
    if (end.outcome !== 'yes') return noMajority(end);
    return Math.max(...end.replies.map(([, waiting]) => waiting));
  }

  private async compete(candidate: Candidate, request: AcquireRequest): Promise<CandidateResult> {
    const until = this.clock.now() + NON_WAITING_LIMIT_MS;
    for (let tries = 1; ; tries += 1) {
      const answer = await this.run(candidate, request);
      if (answer.granted || answer.held || request.wait) return answer;
      if (tries === NON_WAITING_TRIES || this.clock.now() > until) return answer;
      await new Promise<void>((resolve) => this.timers.add(new Deadline(resolve), candidate.pauseMs()));
      if (candidate.over) return answer;
    }
  }

  private async run(candidate: Candidate, request: AcquireRequest): Promise<CandidateResult> {
    try {
      return await candidate.run(request);
    } finally {
      // The lock engine does not release an attempt that was never sent.
      if (!candidate.sent) this.forget(request);
    }
  }

  /** Delay until a waiter repeats its attempt if no message arrives. */
  private lookAfterMs(
    candidate: Candidate,
    { held, remainingMs }: Extract<CandidateResult, { granted: false }>,
  ): number {
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

  /** Schedules the removal of the owner, because a lease may end without a release that reaches a majority. */
  private keep(candidate: Candidate): void {
    this.timers.add(candidate, candidate.ballot.ttlMs + GRACE_MS);
  }

  private forget(name: LockName): void {
    const candidate = this.candidates.get(nameOf(name));
    if (candidate === undefined) return;
    this.timers.remove(candidate);
    this.candidates.delete(nameOf(name));
  }

  /** A ballot for an owner without votes from this process; it may be in queues. */
  private unknownBallot({ key, ownerToken }: LockName): Ballot {
    return new Ballot(this.nodes, key, ownerToken, ownerToken).adopt();
  }
}

/** The name is unique because an owner token contains no space. */
const nameOf = ({ key, ownerToken }: LockName): string => `${ownerToken} ${key}`;
