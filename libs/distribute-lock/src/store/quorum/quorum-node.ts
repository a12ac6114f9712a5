import type { Clock } from '../../runtime/clock.js';
import { Timer, type Timers } from '../../runtime/timers.js';
import { AbandonedTokens, type AbandonedName, finalUndoAt } from '../abandoned-tokens.js';
import { LockStoreError } from '../lock-store.js';
import { COMMAND_LIMIT_MS } from '../redis/link.js';
import type { NodeLine, NodeReply } from './node-connection.js';

/** Result of a step. */
export interface Heard {
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

/** One step sent to a node. */
export class NodeCall extends Timer {
  /** The node may have executed the step. */
  sent = false;
  settled = false;
  sentAt = 0;
  epoch = 0;

  constructor(
    private readonly node: QuorumNode,
    readonly key: string,
    readonly words: readonly (string | number)[],
    readonly limitMs: number,
    /** Called once with the result, and again if an answer arrives after a timeout or cancellation. */
    readonly heard: (heard: Heard) => void,
  ) {
    super();
  }

  due(): void {
    this.node.late(this);
  }

  override forgotten(stood: boolean): void {
    if (stood) this.node.late(this);
  }

  /** Cancels the step unless it has been sent. */
  cancel(): void {
    if (!this.sent) this.node.giveUp(this);
  }
}

/** One independent primary of the quorum. Every step has a time limit, and the node records whether it responds. */
export class QuorumNode {
  /** Tokens whose vote on this node must be undone. */
  private readonly abandoned: AbandonedTokens<AbandonedVote>;
  /** The oldest step that timed out without an answer. */
  private unanswered: NodeCall | undefined;

  constructor(
    readonly line: NodeLine,
    private readonly clock: Clock,
    private readonly timers: Timers,
    dropped: (count: number) => void,
  ) {
    this.abandoned = new AbandonedTokens<AbandonedVote>({
      clock,
      timers,
      undo: ({ key, words }, answer) => {
        this.ask(key, words(), COMMAND_LIMIT_MS, ({ reply, late }) => {
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
  get mute(): boolean {
    return this.unanswered !== undefined && this.line.ready && this.unanswered.epoch === this.line.epoch;
  }

  /** Whether the node has not responded for `limitMs`; the step that timed out may have had a shorter limit. */
  muteFor(limitMs: number): boolean {
    return this.mute && this.clock.now() - this.unanswered!.sentAt >= limitMs;
  }

  /** Whether a poll should not wait for this node unless it needs the vote. */
  get doubtful(): boolean {
    return !this.line.ready || this.mute;
  }

  ask(key: string, words: readonly (string | number)[], limitMs: number, heard: (heard: Heard) => void): NodeCall {
    const call = new NodeCall(this, key, words, limitMs, heard);
    if (this.line.ready) this.send(call, limitMs);
    else this.sendWhenReady(call, Math.max(limitMs, COMMAND_LIMIT_MS));
    return call;
  }

  /**
   * Undoes the vote until the node confirms it.
   * @param astray - a command of the token is unanswered
   * @param released - the node has just confirmed a release
   */
  abandon(vote: AbandonedVote, ttlMs: number, astray: boolean, released = false): void {
    const finalAt = astray ? finalUndoAt(this.clock.now()) : 0;
    this.abandoned.abandon(vote, ttlMs, { finalAt, again: !released, released });
  }

  /** Fails a step at its limit. Answers that arrived while the event loop was blocked are processed first. */
  late(call: NodeCall): void {
    this.clock.nextTurn(() => {
      if (call.settled) return;
      if (call.sent) this.unanswered ??= call;
      this.fail(call, this.noAnswer(call.limitMs, call.sent));
    });
  }

  noAnswer(limitMs: number, sent: boolean): LockStoreError {
    return new LockStoreError(`Redis did not respond within ${limitMs} ms${this.line.trouble}.`, true, { sent });
  }

  giveUp(call: NodeCall): void {
    this.fail(call, new LockStoreError('The step was cancelled.', true, { sent: call.sent }));
  }

  /** The limit applies to answers. A connection may take longer if a majority depends on it. */
  private sendWhenReady(call: NodeCall, patienceMs: number): void {
    const until = this.clock.now() + patienceMs;
    this.timers.add(call, patienceMs);
    this.line.whenReady(patienceMs).then(
      () => {
        if (!call.settled) this.send(call, Math.min(call.limitMs, until - this.clock.now()));
      },
      (error: Error) => this.fail(call, error),
    );
  }

  private send(call: NodeCall, limitMs: number): void {
    this.timers.add(call, limitMs);
    call.sent = true;
    call.sentAt = this.clock.now();
    call.epoch = this.line.epoch;
    this.line
      .run(call.key, call.words, () => !call.settled)
      .then(
        (reply) => {
          this.unanswered = undefined;
          this.settle(call, reply);
        },
        (error: Error) => {
          if (this.unanswered === call) this.unanswered = undefined;
          this.settle(call, error);
        },
      );
  }

  private settle(call: NodeCall, reply: NodeReply | Error): void {
    const late = call.settled;
    call.settled = true;
    this.timers.remove(call);
    call.heard({ reply, late, resent: call.epoch !== this.line.epoch });
  }

  private fail(call: NodeCall, error: Error): void {
    if (!call.settled) this.settle(call, error);
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
