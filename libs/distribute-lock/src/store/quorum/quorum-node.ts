import type { Clock } from '../../runtime/clock.js';
import { Timer, type Timers } from '../../runtime/timers.js';
import { AbandonedTokens, type AbandonedName, finalUndoAt } from '../abandoned-tokens.js';
import { LockStoreError } from '../lock-store.js';
import { COMMAND_LIMIT_MS } from '../redis/link.js';
import { noAnswer } from '../redis/redis-errors.js';
import type { NodeConnection, NodeReply, StepWords } from './node-connection.js';

/** Result of a step. */
export interface StepResult {
  readonly reply: NodeReply | Error;
  /** The step had already been cancelled or timed out. */
  readonly late: boolean;
  /** The connection was lost during the step, so the node may have executed it twice. */
  readonly resent: boolean;
}

/** A vote to undo. */
export interface AbandonedVote extends AbandonedName {
  readonly key: string;
  /** Computed for each undo, because the owner may have left since the previous one. */
  readonly words: () => readonly string[];
}

const ASKS_FOR_VOTE: ReadonlySet<string | number> = new Set(['a', 'w']);

/** One step sent to a node. */
export class NodeStep extends Timer {
  /** The node may have executed the step. */
  sent = false;
  settled = false;
  sentAt = 0;
  epoch = 0;

  constructor(
    private readonly node: QuorumNode,
    readonly key: string,
    readonly words: StepWords,
    readonly limitMs: number,
    /** Called once with the result, and again if an answer arrives after a timeout or cancellation. */
    readonly result: (result: StepResult) => void,
  ) {
    super();
  }

  due(): void {
    this.node.late(this);
  }

  override forgotten(wasScheduled: boolean): void {
    if (wasScheduled) this.node.late(this);
  }

  /** Cancels the step unless it has been sent. */
  cancel(): void {
    if (!this.sent) this.node.abort(this);
  }
}

/** Decides whether a node may vote; see `membership.ts`. */
export interface Admission {
  admits(node: QuorumNode): boolean;
  /** Resolves when the node may vote. Rejects with the reason if it may not, or if the vote is no longer wanted. */
  admit(node: QuorumNode, isWanted: () => boolean): Promise<void>;
}

/** One independent primary of the quorum. Every step has a time limit, and the node records whether it responds. */
export class QuorumNode {
  /** Tokens whose vote on this node must be undone. */
  private readonly abandoned: AbandonedTokens<AbandonedVote>;
  /** The oldest step that timed out without an answer. */
  private unanswered: NodeStep | undefined;
  /** Without one, the node may vote. */
  admission: Admission | undefined;

  constructor(
    readonly connection: NodeConnection,
    private readonly clock: Clock,
    private readonly timers: Timers,
    dropped: (count: number) => void,
  ) {
    this.abandoned = new AbandonedTokens<AbandonedVote>({
      clock,
      timers,
      undo: ({ key, words }, answer) => {
        this.run(key, words(), COMMAND_LIMIT_MS, ({ reply, late }) => {
          if (late) return;
          if (reply instanceof Error) answer.failed(reply);
          else answer.answered(reply);
        });
      },
      settled: () => undefined,
      dropped,
    });
  }

  /** Whether a step on this connection timed out and the node has not responded since. */
  get unresponsive(): boolean {
    return this.unanswered !== undefined && this.connection.ready && this.unanswered.epoch === this.connection.epoch;
  }

  /** Whether the node has not responded for `limitMs`; the step that timed out may have had a shorter limit. */
  unresponsiveFor(limitMs: number): boolean {
    return this.unresponsive && this.clock.now() - this.unanswered!.sentAt >= limitMs;
  }

  /** Whether a poll should not wait for this node unless it needs the vote. */
  get doubtful(): boolean {
    return !this.connection.ready || this.unresponsive;
  }

  private get admitted(): boolean {
    return this.admission === undefined || this.admission.admits(this);
  }

  run(key: string, words: StepWords, limitMs: number, result: (result: StepResult) => void): NodeStep {
    const step = new NodeStep(this, key, words, limitMs, result);
    const mayVote = !ASKS_FOR_VOTE.has(words[0]) || this.admitted;
    if (this.connection.ready && mayVote) this.send(step, limitMs);
    else this.sendWhenReady(step, Math.max(limitMs, COMMAND_LIMIT_MS));
    return step;
  }

  /**
   * Undoes the vote until the node confirms it.
   * @param uncertain - a command of the token is unanswered
   * @param released - the node has just confirmed a release
   */
  abandon(vote: AbandonedVote, ttlMs: number, uncertain: boolean, released = false): void {
    const finalAt = uncertain ? finalUndoAt(this.clock.now()) : 0;
    this.abandoned.abandon(vote, ttlMs, { finalAt, again: !released, released });
  }

  /** Fails a step at its limit. Answers that arrived while the event loop was blocked are processed first. */
  late(step: NodeStep): void {
    this.clock.nextTurn(() => {
      if (step.settled) return;
      if (step.sent) this.unanswered ??= step;
      this.fail(step, noAnswer(step.limitMs, this.connection.trouble, step.sent));
    });
  }

  abort(step: NodeStep): void {
    this.fail(step, new LockStoreError('The step was cancelled.', true, { sent: step.sent }));
  }

  /**
   * The limit applies to answers. A connection may take longer if a majority depends on it. Only the connection limits
   * that wait, because it knows why it is not open.
   */
  private sendWhenReady(step: NodeStep, patienceMs: number): void {
    const until = this.clock.now() + patienceMs;
    const ready = this.connection.whenReady(patienceMs);
    const admitted = (): Promise<void> | undefined => {
      if (step.settled || !ASKS_FOR_VOTE.has(step.words[0]) || this.admitted) return undefined;
      this.timers.add(step, until - this.clock.now());
      return this.admission?.admit(this, () => !step.settled);
    };
    ready.then(admitted).then(
      () => {
        if (!step.settled) this.send(step, Math.min(step.limitMs, until - this.clock.now()));
      },
      (error: Error) => this.fail(step, error),
    );
  }

  private send(step: NodeStep, limitMs: number): void {
    this.timers.add(step, limitMs);
    step.sent = true;
    step.sentAt = this.clock.now();
    step.epoch = this.connection.epoch;
    this.connection
      .run(step.key, step.words, () => !step.settled)
      .then(
        (reply) => {
          this.unanswered = undefined;
          this.settle(step, reply);
        },
        (error: Error) => {
          if (this.unanswered === step) this.unanswered = undefined;
          this.settle(step, error);
        },
      );
  }

  private settle(step: NodeStep, reply: NodeReply | Error): void {
    const late = step.settled;
    step.settled = true;
    this.timers.remove(step);
    step.result({ reply, late, resent: step.epoch !== this.connection.epoch });
  }

  private fail(step: NodeStep, error: Error): void {
    if (!step.settled) this.settle(step, error);
  }
}

/**
 * A node that does not respond must not consume the lease. The limit is a small share of the ttl, but long enough for a
 * busy server.
 */
const LIMIT_SHARE = 0.05;
const LEAST_LIMIT_MS = 50;

/** Limit of one step of a lock with this ttl, in milliseconds. */
export const limitOf = (ttlMs: number): number =>
  Math.min(COMMAND_LIMIT_MS, Math.max(LEAST_LIMIT_MS, Math.ceil(ttlMs * LIMIT_SHARE)));
