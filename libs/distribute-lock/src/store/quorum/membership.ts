import { randomBytes } from 'node:crypto';

import type { Clock } from '../../runtime/clock.js';
import { Alarm, type Timers } from '../../runtime/timers.js';
import { LockStoreError } from '../lock-store.js';
import { MEMBERS, OTHER_COUNT } from '../protocol/reply-codes.js';
import { NEW_RECORD_MS } from '../protocol.js';
import { COMMAND_LIMIT_MS } from '../redis/link.js';
import type { NodeReply, StepWords } from './node-connection.js';
import { majorityOf } from './poll.js';
import type { Admission, NodeStep, QuorumNode, StepResult } from './quorum-node.js';

/** Interval at which a process renews the places of its nodes. */
const HEARTBEAT_MS = 2_000;
/** An answer of a node about its places counts for this time. */
const FRESH_MS = 10_000;
/** A node keeps its place for this time after the last renewal, or for {@link REST_MS} more than the longest ttl. */
const LEAST_KEPT_MS = 60_000;
/**
 * Covers {@link FRESH_MS}, the time in which a delayed acquire may be executed, and clocks that run at different speeds.
 * So every vote that was given to a node with a place has ended before the place is free.
 */
const REST_MS = 30_000;
/**
 * A place that is still renewed this long after another node was refused belongs to a list that is in use. A process
 * that lost its connection stops sooner.
 */
const STILL_IN_USE_MS = 3_000;
/** A place that was not renewed for this time is not in use. */
const UNUSED_MS = STILL_IN_USE_MS + HEARTBEAT_MS + 500;

const HOW_TO_CHANGE =
  'To change the nodes of a quorum, follow "Changing the nodes of a quorum" in docs/guide/deployment.md.';

const newNodeId = (): string => randomBytes(16).toString('base64url');

/** The answer of a node about its places. */
interface PlacesAnswer {
  readonly epoch: number;
  readonly sentAt: number;
  readonly keptMs: number;
  /** Ids that have a place. */
  readonly accepted: ReadonlySet<string>;
  /** Ids that have none. */
  readonly refused: ReadonlySet<string>;
}

/** What this process knows of one node. */
interface Seat {
  readonly node: QuorumNode;
  /** Its id, which the process writes again after the node has lost its data; a random one until the node answers. */
  id: string;
  /** The node has confirmed its id. */
  known: boolean;
  /** Time of the first answer with this id. */
  knownSince: number;
  answer: PlacesAnswer | undefined;
  /** The node answered with this error on the present connection. */
  failure: { readonly epoch: number; readonly error: Error } | undefined;
  /** Number of nodes of another list that processes use with this node, and the time that its record lasts. */
  otherCount: { readonly count: string; readonly leftMs: number } | undefined;
  /** Some nodes have no place on this node. */
  refusal: NoPlace | undefined;
}

interface NoPlace {
  readonly since: number;
  /** End of the places of other nodes, on the clock of the node. */
  readonly latest: number;
  /** Time at which another process was seen to renew these places. */
  readonly renewedAt: number;
}

/**
 * Ensures that all processes which reach a node use the same list of nodes.
 *
 * Each node has a random id, which it keeps beside the ids of the other nodes, one place for each node of the list. A
 * node may vote when every reachable node has a place for it. Ids do not depend on addresses, so processes may reach the
 * nodes under different names. A node that lost its data gets its id from a process that knew it. Otherwise it waits
 * until the place of its former id is free.
 */
export class Membership implements Admission {
  private readonly seats: readonly Seat[];
  private readonly heartbeat = new Alarm(() => void this.round());
  private keptMs = LEAST_KEPT_MS;
  private running: Promise<void> | undefined;
  /** A node has been reached since the last round began. */
  private unannounced = false;
  private closed = false;

  constructor(
    nodes: readonly QuorumNode[],
    private readonly clock: Clock,
    private readonly timers: Timers,
  ) {
    this.seats = nodes.map((node) => ({
      node,
      id: newNodeId(),
      known: false,
      knownSince: Infinity,
      answer: undefined,
      failure: undefined,
      otherCount: undefined,
      refusal: undefined,
    }));
    for (const node of nodes) node.admission = this;
  }

  /** Numbers of nodes, from 1, that are the same server as an earlier one. */
  get twins(): readonly number[] {
    return this.seats.flatMap((seat, i) => (this.isTwin(seat) ? [i + 1] : []));
  }

  /** Why this process may get no lock at all: processes with another list are running. */
  get conflict(): string | undefined {
    const { length } = this.seats;
    for (const [i, { otherCount, refusal, node }] of this.seats.entries()) {
      if (otherCount !== undefined && node.connection.ready)
        return (
          `Node ${i + 1} of this list of ${length} quorum nodes is used in a list of ${otherCount.count} nodes. ` +
          `If all processes with that list have stopped, start again in ${inSeconds(otherCount.leftMs)}. ${HOW_TO_CHANGE}`
        );
      if (refusal !== undefined && refusal.renewedAt - refusal.since >= STILL_IN_USE_MS)
        return (
          `Running processes use another list of quorum nodes: they use node ${i + 1} of this list of ${length} together ` +
          `with nodes that are not in the list, instead of ${this.withoutPlace(this.seats[i])}. ${HOW_TO_CHANGE}`
        );
    }
    return undefined;
  }

  /** Whether a refused node may still turn out to belong to another list. */
  get undecided(): boolean {
    const now = this.clock.now();
    return (
      !this.closed && this.seats.some(({ refusal }) => refusal !== undefined && now - refusal.renewedAt < UNUSED_MS)
    );
  }

  /** Reason why fewer nodes than a majority have a place, if they answer. */
  get shortage(): string | undefined {
    const refusing = this.seats.find(({ refusal }) => refusal !== undefined);
    const admitted = this.seats.filter(({ node }) => this.admits(node)).length;
    if (refusing === undefined || admitted >= majorityOf(this.seats.length)) return undefined;
    return `${this.noPlace(refusing)} ${HOW_TO_CHANGE}`;
  }

  /** Sends the places to a node that may not be connected yet; the result is the answer of the node. */
  introduce(node: QuorumNode, limitMs: number, result: (result: StepResult) => void): NodeStep {
    return this.present(this.seatOf(node), limitMs, result);
  }

  admits(node: QuorumNode): boolean {
    const seat = this.seatOf(node);
    if (!seat.known || this.isTwin(seat) || this.conflict !== undefined) return false;
    if (!this.isAnswered(seat)) return false;
    return this.seats.every((other) =>
      this.isAnswered(other) ? other.answer?.accepted.has(seat.id) === true : !this.isReachable(other),
    );
  }

  async admit(node: QuorumNode, isWanted: () => boolean): Promise<void> {
    const seat = this.seatOf(node);
    while (!this.admits(node)) {
      // Each round waits for an answer of the node, so the loop ends with the limit of the step.
      if (!isWanted() || !node.connection.ready || this.isRefused(seat)) throw this.fault(seat);
      await (node.unresponsive ? this.presented(seat) : this.round());
      if (!this.isReachable(seat) && seat.failure !== undefined) throw seat.failure.error;
    }
  }

  /** Keeps the places for as long as votes with this ttl may last. The nodes receive it before the next vote. */
  allow(ttlMs: number): void {
    if (ttlMs + REST_MS <= this.keptMs) return;
    this.keptMs = ttlMs + REST_MS;
    if (this.seats.some(({ answer }) => answer !== undefined)) void this.round(true);
  }

  /** Sends the places to every connected node. Resolves when each has answered or failed. */
  round(again = false): Promise<void> {
    this.timers.add(this.heartbeat, HEARTBEAT_MS);
    if (this.running !== undefined && !again) return this.running;
    this.unannounced = false;
    const answers: Promise<void>[] = [];
    for (const seat of this.seats) {
      const { node } = seat;
      // A node that is connected before the next round receives its id at once.
      if (!node.connection.ready) this.present(seat, HEARTBEAT_MS, () => undefined);
      else if (node.unresponsive) void this.presented(seat);
      else answers.push(this.presented(seat));
    }
    const running = Promise.all(answers).then(() => {
      if (this.running === running) this.running = undefined;
      this.announce();
    });
    this.running = running;
    return running;
  }

  close(): void {
    this.closed = true;
  }

  /** Sends the ids of nodes that have just been reached to the others. */
  private announce(): void {
    if (this.unannounced && this.running === undefined) void this.round();
  }

  private presented(seat: Seat): Promise<void> {
    return new Promise((resolve) => void this.present(seat, COMMAND_LIMIT_MS, () => resolve()));
  }

  private present(seat: Seat, limitMs: number, result: (result: StepResult) => void): NodeStep {
    const sent = this.seats.filter((each) => this.isAnswered(each, FRESH_MS, 0)).map(({ id }) => id);
    const { keptMs } = this;
    // A new id may still be replaced by the former one.
    const isFormer = this.clock.now() - seat.knownSince >= NEW_RECORD_MS;
    const words: StepWords = [
      'm',
      this.seats.length,
      keptMs,
      Number(isFormer),
      seat.id,
      ...sent.filter((id) => id !== seat.id),
    ];
    const step: NodeStep = seat.node.run('', words, limitMs, (answer) => {
      const { epoch } = seat.node.connection;
      if (!answer.resent && step.sent) {
        if (answer.reply instanceof Error) seat.failure = { epoch, error: answer.reply };
        else this.answered(seat, answer.reply, sent, { epoch, sentAt: step.sentAt, keptMs });
      }
      result(answer);
      this.announce();
    });
    return step;
  }

  private answered(
    seat: Seat,
    reply: NodeReply,
    sent: readonly string[],
    answer: Omit<PlacesAnswer, 'accepted' | 'refused'>,
  ): void {
    const [code, x, y] = reply;
    seat.failure = undefined;
    if (code === OTHER_COUNT) {
      seat.otherCount = { count: String(y), leftMs: x };
      seat.refusal = undefined;
      seat.answer = { ...answer, accepted: new Set(), refused: new Set() };
      return;
    }
    const [id, ...refused] = String(y).split(' ');
    this.unannounced ||= seat.answer?.epoch !== answer.epoch || seat.id !== id;
    seat.otherCount = undefined;
    if (!seat.known || seat.id !== id) seat.knownSince = this.clock.now();
    seat.id = id;
    seat.known = true;
    const accepted = new Set([id, ...sent]);
    for (const each of refused) accepted.delete(each);
    seat.answer = { ...answer, accepted, refused: new Set(refused) };
    seat.refusal = code === MEMBERS ? undefined : this.refusalOf(seat.refusal, x);
  }

  private refusalOf(before: NoPlace | undefined, latest: number): NoPlace {
    const now = this.clock.now();
    if (before === undefined || now - before.renewedAt >= UNUSED_MS) {
      // Places that were not in use may be taken again.
      if (before === undefined || latest > before.latest) return { since: now, latest, renewedAt: now };
      return before;
    }
    if (latest <= before.latest) return before;
    return { ...before, latest, renewedAt: now };
  }

  /** Whether a node has answered on this connection, not long ago. */
  private isAnswered({ node, answer }: Seat, freshMs = FRESH_MS, keptMs = this.keptMs): boolean {
    return (
      answer !== undefined &&
      node.connection.ready &&
      answer.epoch === node.connection.epoch &&
      answer.keptMs >= keptMs &&
      this.clock.now() - answer.sentAt < freshMs
    );
  }

  private isReachable({ node, failure }: Seat): boolean {
    return node.connection.ready && !node.unresponsive && failure?.epoch !== node.connection.epoch;
  }

  /** Whether more answers of the nodes cannot help now; the next heartbeat asks again. */
  private isRefused(seat: Seat): boolean {
    if (this.conflict !== undefined || this.isTwin(seat)) return true;
    return this.seats.some((other) => this.isAnswered(other) && other.answer?.refused.has(seat.id) === true);
  }

  private isTwin(seat: Seat): boolean {
    return seat.known && this.seats.find(({ known, id }) => known && id === seat.id) !== seat;
  }

  private fault(seat: Seat): Error {
    const { conflict } = this;
    if (conflict !== undefined) return new LockStoreError(conflict, false, { sent: false });
    if (seat.failure !== undefined) return seat.failure.error;
    if (this.isTwin(seat))
      return new LockStoreError(
        'Two nodes of the quorum are the same Redis server. Configure a separate server for every node.',
        false,
        { sent: false },
      );
    const refusing = this.seats.find(({ answer }) => answer?.refused.has(seat.id) === true);
    const message =
      refusing === undefined ? 'The nodes did not answer in time which nodes they know.' : this.noPlace(refusing);
    return new LockStoreError(message, true, { sent: false });
  }

  private noPlace(refusing: Seat): string {
    return (
      `Of this list of ${this.seats.length} quorum nodes, node ${this.seats.indexOf(refusing) + 1} has no place for ${this.withoutPlace(refusing)}. ` +
      `It keeps the places of nodes that are not in the list for ${inSeconds(this.keptMs)} after their last use.`
    );
  }

  private withoutPlace({ answer }: Seat): string {
    const indexes = this.seats.flatMap(({ id, known }, i) =>
      known && answer?.refused.has(id) === true ? [i + 1] : [],
    );
    return `node ${indexes.join(' and ')}`;
  }

  private seatOf(node: QuorumNode): Seat {
    return this.seats.find((seat) => seat.node === node)!;
  }
}

const inSeconds = (ms: number): string => `${Math.ceil(ms / 1_000)} s`;
