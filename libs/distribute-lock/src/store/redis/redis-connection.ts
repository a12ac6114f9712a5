import type { Redis } from 'ioredis';

import type { Clock } from '../../runtime/clock.js';
import { Timer, Timers } from '../../runtime/timers.js';
import { LockStoreError } from '../lock-store.js';
import type { Layout } from './layout.js';
import { COMMAND_LIMIT_MS, Link, type LinkListener } from './link.js';
import { Outage } from './outage.js';
import { addressOf, addressOfMember, isCluster, isEnded, peerOf, stateOf, type RedisClient } from './redis-client.js';
import { isDemotion, messageOf, neverSent, noAnswer, redacted, storeError } from './redis-errors.js';
import { SentinelWatch } from './sentinel-watch.js';
import { ServerClock } from './server-clock.js';
import { TemplateWatch } from './template-watch.js';

/** An error reply, as the client reports it. */
interface CommandError {
  readonly command?: { readonly name: string };
}

/** A command that waits until its link accepts writes. */
class PendingCall extends Timer {
  constructor(
    readonly lockKey: string,
    readonly resolve: () => void,
    readonly reject: (error: Error) => void,
    readonly due: () => void,
    private readonly ended: () => void,
  ) {
    super();
  }

  override forgotten(): void {
    this.ended();
  }
}

/** A client that the library has opened, with the state of its connection to one primary. */
export class RedisConnection implements LinkListener {
  /**
   * Increases when the connection is lost. An answer is unambiguous only if it arrives on the connection of its
   * command.
   */
  epoch = 0;
  /** Whether the client is a Cluster client. */
  readonly clustered: boolean = false;
  /** Whether messages go to channels in the slots of their locks first; see `shard-subscriptions.ts`. */
  sharded = false;
  /** Timers of everything that uses the connection. */
  readonly timers: Timers;
  readonly outage: Outage;
  /** Clock of an unknown Cluster node. */
  private readonly unknownClock = new ServerClock();
  private readonly link: Link | undefined;
  private readonly watch: SentinelWatch | undefined;
  private readonly pending = new Set<PendingCall>();
  private readonly listeners = new Set<LinkListener>();
  private readonly handlers: readonly (readonly [string, (error: Error) => void])[];
  private lastError: string | undefined;
  private readonly templateWatch: TemplateWatch | undefined;

  constructor(
    readonly client: RedisClient,
    readonly clock: Clock,
    /** The template of this client and further ones: the application's client, if there is one. */
    readonly template = client,
    /** Present if the connection carries commands of `RedisCommands`. */
    readonly layout?: Layout,
  ) {
    // When the application closes its client, the library closes the copy.
    if (template !== client) this.templateWatch = new TemplateWatch(template, () => this.client.disconnect());
    this.timers = new Timers(clock);
    this.outage = new Outage(
      addressOf(client),
      clock,
      this.timers,
      (part) => this.isNeeded(part),
      () => this.search(),
    );
    this.handlers = [
      ['ready', () => this.becameReady()],
      ['close', () => (this.epoch += 1)],
      ['end', () => this.hasEnded()],
      // Without a listener the client prints every error to the console.
      ['error', (error: Error) => this.failed(error)],
    ];
    for (const [event, handler] of this.handlers) client.on(event, handler);
    if (isCluster(client)) return;
    const greet = (): Promise<void> | undefined => this.layout?.find().then(() => this.layoutFound());
    this.link = new Link(client, { clock, timers: this.timers, listener: this, greet });
    if (client.options.sentinels) {
      const switched = (peer: string): void => {
        if (this.accepts() && peer !== peerOf(client)) this.demoted();
      };
      this.watch = new SentinelWatch(client.options, switched, { clock, timers: this.timers });
    }
  }

  /** Whether a script call may have keys of one lock only, and every lock has a counter of fencing tokens. */
  get bySlot(): boolean {
    return this.layout?.bySlot ?? this.clustered;
  }

  /** The link that carries commands for this lock; `undefined` if the Cluster node is unknown. */
  linkOf(_lockKey: string): Link | undefined {
    return this.link;
  }

  /** The server that stores this lock, for messages. */
  serverOf(_lockKey: string): string {
    return 'Redis';
  }

  /** The clock of the server that stores this lock. */
  clockOf(lockKey: string): ServerClock {
    return this.linkOf(lockKey)?.serverClock ?? this.unknownClock;
  }

  /** Whether a command for this lock is sent now and its reply can be expected in time. */
  accepts(_lockKey = ''): boolean {
    return this.link!.accepts;
  }

  /** The last connection error, for messages. */
  get trouble(): string {
    return this.lastError === undefined ? '' : ` (${this.lastError})`;
  }

  /** Resolves when the link accepts commands for this lock. Rejects with the known cause after the limit. */
  whenReady(limitMs: number, lockKey = ''): Promise<void> {
    if (this.accepts(lockKey)) return Promise.resolve();
    if (isEnded(this.client)) return Promise.reject(this.ended());
    if (this.client.status === 'wait') this.client.connect().catch((error: Error) => this.failed(error));
    return new Promise((resolve, reject) => {
      const late = (): void => {
        this.pending.delete(call);
        reject(this.notReady(limitMs));
      };
      const call = new PendingCall(lockKey, resolve, reject, late, () => {
        this.pending.delete(call);
        reject(this.ended());
      });
      this.pending.add(call);
      this.timers.add(call, limitMs);
    });
  }

  /**
   * Closes the connection because the server no longer accepts writes, as after a failover. The client finds the new
   * primary when it reconnects.
   */
  demoted(): void {
    this.link?.close();
  }

  /** @param text - the error of a command */
  noticeDemotion(text: string): void {
    if (isDemotion(text)) this.demoted();
  }

  /** Sends all commands of `send` in one write where possible. */
  inOneWrite(send: () => void): void {
    const { stream } = this.client as Partial<Redis>;
    stream?.cork();
    try {
      send();
    } finally {
      stream?.uncork();
    }
  }

  /** The listener is notified of the state of the link until {@link unobserve}. */
  observe(listener: LinkListener): void {
    this.listeners.add(listener);
  }

  /** Number of listeners that observe the link: one per subscribed channel. */
  get observers(): number {
    return this.listeners.size;
  }

  unobserve(listener: LinkListener): void {
    this.listeners.delete(listener);
  }

  /** @internal */
  usable(link?: Link): void {
    this.lastError = undefined;
    this.outage.end(this.partOf(link));
    this.watch?.open();
    this.resolvePending();
    for (const listener of this.listeners) listener.usable?.();
  }

  /** @internal */
  unusable(link?: Link): void {
    const part = this.partOf(link);
    const node = typeof part === 'string' ? `${part}: ` : '';
    // An error of an open connection, such as a reset, says how it ended. The next attempt says whether the server fails.
    this.outage.begin(part, this.lastError ?? node + reasonOf(link));
    for (const listener of this.listeners) listener.unusable?.();
  }

  /** Stops listening, and closes the client. */
  close(): void {
    for (const [event, handler] of this.handlers) {
      if (event !== 'error') this.client.off(event, handler);
    }
    this.timers.close();
    this.rejectPending();
    this.link?.end();
    this.watch?.close();
    this.templateWatch?.end();
    this.client.disconnect();
  }

  /** The part of the connection that the link belongs to, for outages: of a Cluster the node, without a link the client. */
  protected partOf(_link: Link | undefined): unknown {
    return this;
  }

  /** Whether locks depend on the part. */
  protected isNeeded(_part: unknown): boolean {
    return true;
  }

  /** Looks for a lost server. A client of one server connects again without commands. */
  protected search(): void {}

  /** Called when the client is ready. A connection to one primary becomes usable only when its link does. */
  protected becameReady(): void {}

  /** @param node - the node of a Cluster that failed, if known */
  protected failed(error: unknown, node?: string): void {
    // The client would become ready in database 0, which contains other locks.
    if ((error as CommandError | undefined)?.command?.name === 'select') this.link?.close();
    this.lastError = (node === undefined ? '' : `${node}: `) + redacted(messageOf(error));
    if (this.link?.accepts !== true) this.outage.begin(this.partOf(this.link), this.lastError, true);
    const server = node === undefined ? addressOf(this.client) : addressOfMember(node);
    const known = neverSent(storeError(error, server));
    if (known.passing) return;
    // A lasting error, such as a wrong password, fails waiting commands at once.
    for (const call of this.take()) call.reject(known);
  }

  /** Resumes commands whose link accepts writes. */
  protected resolvePending(): void {
    for (const call of [...this.pending]) {
      if (!this.accepts(call.lockKey)) continue;
      this.pending.delete(call);
      this.timers.remove(call);
      call.resolve();
    }
  }

  private layoutFound(): void {
    this.sharded = this.layout!.sharded;
  }

  private hasEnded(): void {
    this.outage.cancel();
    this.rejectPending();
  }

  private rejectPending(): void {
    for (const { reject } of this.take()) reject(this.ended());
  }

  private take(): PendingCall[] {
    const all = [...this.pending];
    this.pending.clear();
    for (const call of all) this.timers.remove(call);
    return all;
  }

  private notReady(limitMs: number): LockStoreError {
    // The socket is open, so the server received the handshake or commands and does not respond.
    const open = this.client.status === 'connect' || this.client.status === 'ready';
    if (open) return noAnswer(limitMs, this.trouble, false);
    const error = `Redis is not connected${this.trouble || ` (${stateOf(this.client)})`}.`;
    return new LockStoreError(error, true, { sent: false });
  }

  private ended(): LockStoreError {
    return new LockStoreError(`The connection to Redis is closed${this.trouble}.`, false, { sent: false });
  }
}

/** Why the link accepts no writes, if the client reported no error. */
function reasonOf(link: Link | undefined): string {
  return link?.overdue === true
    ? `the server did not respond within ${COMMAND_LIMIT_MS} ms`
    : 'the server closed the connection';
}
