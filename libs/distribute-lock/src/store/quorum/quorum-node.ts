import type { Clock } from '../../runtime/clock.js';
import { Timed, type TimerLanes } from '../../runtime/timer-lanes.js';
import { AbandonedTokens, type AbandonedName, finalUndoAt } from '../abandoned-tokens.js';
import { LockStoreError } from '../lock-store.js';
import { COMMAND_LIMIT_MS } from '../redis/link.js';
import type { NodeLine, NodeReply } from './node-line.js';

/** What came of a step. */
export interface Heard {
  readonly reply: NodeReply | Error;
  /** It was given up before. */
  readonly late: boolean;
  /** The connection changed under it, so it may have been applied twice. */
  readonly resent: boolean;
}

/** A vote to take back. */
export interface AbandonedVote extends AbandonedName {
  readonly key: string;
  /** Made for each undo: its owner may have left since the one before. */
  readonly words: () => readonly string[];
}

/** One step on its way to a node. */
export class NodeCall extends Timed {
  /** It may have been applied. */
  sent = false;
  settled = false;
  sentAt = 0;
  epoch = 0;

  constructor(
    private readonly node: QuorumNode,
    readonly key: string,
    readonly words: readonly (string | number)[],
    readonly limitMs: number,
    /** Called once; and once more when it was given up and its answer comes all the same. */
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

  /** It is not sent any more, if that has not happened yet. */
  cancel(): void {
    if (!this.sent) this.node.giveUp(this);
  }
}

/** One independent primary, as the quorum sees it: every step has its time limit, and a node that is mute is known to be. */
export class QuorumNode {
  /** Tokens that may have this node's vote, and should not. */
  private readonly abandoned: AbandonedTokens<AbandonedVote>;
  /** The oldest step that was given up and is not answered yet. */
  private unanswered: NodeCall | undefined;

  constructor(
    readonly line: NodeLine,
    private readonly clock: Clock,
    private readonly lanes: TimerLanes,
    dropped: (count: number) => void,
  ) {
    this.abandoned = new AbandonedTokens<AbandonedVote>({
      clock,
      lanes,
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

  /** It has let a step of this connection's go unanswered, and has not said a word since. */
  get mute(): boolean {
    return this.unanswered !== undefined && this.line.ready && this.unanswered.epoch === this.line.epoch;
  }

  /** Whether that goes on for so long already: the step that was given up may have had a shorter limit. */
  muteFor(limitMs: number): boolean {
    return this.mute && this.clock.now() - this.unanswered!.sentAt >= limitMs;
  }

  /** Whether nobody should wait for its answer if there is another way. */
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
   * Takes the vote back until the node has confirmed that.
   * @param astray - a command of the token went unanswered
   * @param released - the node has confirmed a release just now
   */
  abandon(vote: AbandonedVote, ttlMs: number, astray: boolean, released = false): void {
    const finalAt = astray ? finalUndoAt(this.clock.now()) : 0;
    this.abandoned.abandon(vote, ttlMs, { finalAt, again: !released, released });
  }

  /** A blocked event loop is not a mute node: answers that have arrived get a turn of the loop first. */
  late(call: NodeCall): void {
    this.clock.nextTurn(() => {
      if (call.settled) return;
      if (call.sent) this.unanswered ??= call;
      this.fail(call, this.noAnswer(call.limitMs, call.sent));
    });
  }

  noAnswer(limitMs: number, sent: boolean): LockStoreError {
    return new LockStoreError(`Redis did not answer within ${limitMs} ms${this.line.trouble}.`, true, { sent });
  }

  giveUp(call: NodeCall): void {
    this.fail(call, new LockStoreError('The step was cancelled.', true, { sent: call.sent }));
  }

  /** The limit is for answers; a connection may take longer to come, if a majority has to wait for it. */
  private sendWhenReady(call: NodeCall, patienceMs: number): void {
    const until = this.clock.now() + patienceMs;
    this.lanes.add(call, patienceMs);
    this.line.whenReady(patienceMs).then(
      () => {
        if (!call.settled) this.send(call, Math.min(call.limitMs, until - this.clock.now()));
      },
      (error: Error) => this.fail(call, error),
    );
  }

  private send(call: NodeCall, limitMs: number): void {
    this.lanes.add(call, limitMs);
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
    this.lanes.remove(call);
    call.heard({ reply, late, resent: call.epoch !== this.line.epoch });
  }

  private fail(call: NodeCall, error: Error): void {
    if (!call.settled) this.settle(call, error);
  }
}
