import {
  LockStoreError,
  type LockMessage,
  type LockStoreListener,
} from '../../../libs/distribute-lock/src/store/lock-store.js';
import { TOO_LATE } from '../../../libs/distribute-lock/src/store/protocol/reply-codes.js';
import { COMMAND_LIMIT_MS } from '../../../libs/distribute-lock/src/store/redis/link.js';
import { ServerClock } from '../../../libs/distribute-lock/src/store/redis/server-clock.js';
import type { NodeInbox } from '../../../libs/distribute-lock/src/store/quorum/node-connection.js';
import type { NodeConnection, NodeReply } from '../../../libs/distribute-lock/src/store/quorum/node-connection.js';
import type { QuorumProcess } from './quorum-process.js';
import type { QuorumWorld, SimulatedNode } from './quorum-world.js';

/** Bytes of a broken connection may arrive this much later. */
const MOST_STRAY_MS = 5_000;
/** The round trip of a clock query to the node. */
const CLOCK_TRIP_MS = 5;
/** The limit after which a connection with an overdue reply is closed. */
const SILENCE_LIMIT_MS = 2_500;

interface Command {
  readonly key: string;
  readonly words: readonly (string | number)[];
  readonly settle: (answer: NodeReply | Error) => void;
  arrived: boolean;
}

/**
 * The connection of one process to one node, in order both ways while it is open. When it breaks, replies are lost, and
 * unanswered commands are sent again or rejected. Bytes of the old connection may arrive at any time.
 */
export class SimulatedConnection implements NodeConnection, NodeInbox {
  ready = true;
  epoch = 0;
  readonly trouble = '';
  private readonly serverClock = new ServerClock();
  private unanswered: Command[] = [];
  private lastArrival = 0;
  private lastAnswer = 0;
  private answeredAt = 0;
  private whenBack: (() => void)[] = [];
  private listener: LockStoreListener | undefined;

  constructor(
    private readonly world: QuorumWorld,
    private readonly process: QuorumProcess,
    private readonly node: SimulatedNode,
  ) {}

  whenReady(limitMs: number): Promise<void> {
    if (this.ready) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.whenBack.push(resolve);
      this.process.after(limitMs, () => reject(new LockStoreError('not connected', true)));
    });
  }

  async run(key: string, words: readonly (string | number)[], isWanted: () => boolean): Promise<NodeReply> {
    if (words[0] === 'm') return this.askMembers(words);
    const sentAt = this.process.now();
    for (;;) {
      if (this.serverClock.refreshes(sentAt)) this.readClock();
      const reply = await this.ask(key, [...words, this.serverClock.deadline(sentAt, COMMAND_LIMIT_MS)]);
      if (reply[0] !== TOO_LATE) return reply;
      this.serverClock.correct(reply[1], sentAt);
      this.readClock();
      if (!isWanted()) throw new LockStoreError('too late', true);
    }
  }

  /** Draws no random number, so that heartbeats do not change the plan of a history. */
  private askMembers(words: readonly (string | number)[]): Promise<NodeReply> {
    const { epoch, world, node } = this;
    return new Promise((resolve, reject) => {
      const arrive = (): void => {
        if (this.process.gone) return;
        if (epoch !== this.epoch || !this.ready) return reject(new LockStoreError('connection lost', true));
        if (node.awayUntil > world.now) return world.in(node.awayUntil - world.now, arrive);
        resolve(node.server.run('', words));
      };
      world.in(CLOCK_TRIP_MS, arrive);
    });
  }

  private ask(key: string, words: readonly (string | number)[]): Promise<NodeReply> {
    return new Promise((resolve, reject) => {
      const settle = (answer: NodeReply | Error): void => {
        if (this.process.gone) return;
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      };
      const command = { key, words, settle, arrived: false };
      this.unanswered.push(command);
      if (this.ready) this.send(command);
    });
  }

  async open(_: string, listener: LockStoreListener): Promise<void> {
    await this.whenReady(800);
    this.listener = listener;
  }

  /** Whether the message was sent; it arrives if the connection is still open then. */
  deliver(message: LockMessage): boolean {
    if (this.process.gone || !this.ready || this.listener === undefined) return false;
    const { epoch } = this;
    this.world.in(this.world.transferMs(), () => {
      if (epoch === this.epoch && !this.process.gone) this.listener?.message(message);
    });
    return true;
  }

  close(): void {
    // The simulated connection has no real connection.
  }

  /** Delays all bytes, and loses none. */
  mute(ms: number): void {
    this.lastArrival = Math.max(this.lastArrival, this.world.now + ms);
    this.lastAnswer = Math.max(this.lastAnswer, this.world.now + ms);
  }

  breakFor(ms: number): void {
    const { random } = this.world;
    if (!this.ready) return;
    this.world.note(`${this.name} breaks for ${ms.toFixed(0)} ms`);
    this.ready = false;
    this.epoch += 1;
    this.serverClock.forget();
    this.lastArrival = this.lastAnswer = 0;
    for (const { key, words, arrived } of this.unanswered) {
      if (arrived || random.chance(0.5)) continue;
      this.world.in(random.between(0, MOST_STRAY_MS), () => this.apply(key, words, 'stray'));
    }
    if (random.chance(0.3)) {
      for (const { settle } of this.unanswered.splice(0)) settle(new LockStoreError('connection lost', true));
    }
    this.world.in(ms, () => this.restore());
  }

  private restore(): void {
    this.ready = true;
    this.readClock();
    for (const command of this.unanswered) this.send(command);
    for (const back of this.whenBack.splice(0)) back();
    if (!this.process.gone) this.listener?.resubscribed();
  }

  private readClock(): void {
    this.serverClock.observe(this.node.server.clockMs(), this.process.now() - CLOCK_TRIP_MS);
  }

  private send(command: Command): void {
    const { epoch, world } = this;
    command.arrived = false;
    // The link closes a connection with an overdue reply.
    world.in(SILENCE_LIMIT_MS, () => {
      const silentMs = world.now - this.answeredAt;
      if (epoch === this.epoch && this.unanswered.includes(command) && silentMs >= SILENCE_LIMIT_MS) this.breakFor(20);
    });
    this.lastArrival = Math.max(this.lastArrival, world.now + world.transferMs());
    world.in(this.lastArrival - world.now, () => {
      if (epoch === this.epoch) this.arrive(command, epoch);
    });
  }

  private arrive(command: Command, epoch: number): void {
    const { world, node } = this;
    // Commands for a stopped node keep their order.
    if (node.awayUntil > world.now) {
      this.lastArrival = Math.max(this.lastArrival, node.awayUntil);
      return world.in(node.awayUntil - world.now, () => {
        if (epoch === this.epoch) this.arrive(command, epoch);
      });
    }
    command.arrived = true;
    const reply = this.apply(command.key, command.words, '');
    this.lastAnswer = Math.max(this.lastAnswer, world.now + world.transferMs());
    world.in(this.lastAnswer - world.now, () => {
      if (epoch !== this.epoch) return;
      this.unanswered = this.unanswered.filter((other) => other !== command);
      this.answeredAt = world.now;
      command.settle(reply);
    });
  }

  private apply(key: string, words: readonly (string | number)[], how: string): NodeReply {
    const reply = this.node.server.run(key, words);
    this.world.note(`${this.name} ${key} ${how} ${words.join(' ')} -> ${reply.join(' ')}`);
    return reply;
  }

  private get name(): string {
    return `${this.process.id.replace(/-+$/, '')}-n${this.world.nodes.indexOf(this.node)}`;
  }
}
