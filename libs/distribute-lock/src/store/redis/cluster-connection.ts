import type { Cluster, Redis } from 'ioredis';

import type { Clock } from '../../runtime/clock.js';
import { Deadline } from '../../runtime/timers.js';
import { guardSockets } from './guard-sockets.js';
import type { Layout } from './layout.js';
import { COMMAND_LIMIT_MS, Link } from './link.js';
import { addressOfMember, isReady, nameOf, type RedisClient } from './redis-client.js';
import { RedisConnection } from './redis-connection.js';
import { messageOf, redacted, storeError } from './redis-errors.js';
import { slotOf } from './redis-keys.js';

/** From this number of masters on, messages use sharded channels; with fewer, plain messages cost little. */
const SHARDED_FROM = 8;

/** One client of a Cluster, with a link for the connection to each node. */
export class ClusterConnection extends RedisConnection {
  override readonly clustered = true;
  /** Links by `host:port`, the name that the client gives to a node. */
  private readonly links = new Map<string, Link>();
  /** All copies of nodes: of the client, for one request to a node each, and of this library, for messages and for an error. */
  private readonly copies = new Set<Redis>();
  /** The lasting error of a node since the client was ready. The client asks one node before it is ready, and reports no error of it. */
  private refusal: string | undefined;
  /** Counts lost nodes: after such a loss the client resends commands in flight, so their answers are ambiguous. */
  private readonly onClose = (): void => void (this.epoch += 1);
  private readonly onNode = (node: Redis): void => {
    this.countMasters();
    this.trackCopies(node);
    node.on('close', this.onClose);
    const { clock, timers } = this;
    // The client replaces a node before it reports that the old one is gone.
    this.links.get(nameOf(node))?.end();
    this.links.set(nameOf(node), new Link(node, { clock, timers, listener: this }));
  };
  private readonly onNodeError = (error: unknown, name: string): void => {
    const reason = `${name}: ${redacted(messageOf(error))}`;
    if (storeError(error).passing) return this.outage.explain(name, reason);
    if (!isReady(this.cluster)) this.refusal = reason;
    // A node that rejects the user has never been usable, so its link reports no loss.
    this.outage.begin(name, reason, true);
  };
  private readonly onNodeGone = (node: Redis): void => {
    this.epoch += 1;
    node.off('close', this.onClose);
    const name = nameOf(node);
    const link = this.links.get(name);
    if (link?.client !== node) return;
    link.end();
    this.links.delete(name);
    // The client reads from another node which node serves the slots now.
    this.resolvePending();
  };

  /** The client read which node serves which slots: a failover has replaced a lost master, or it was removed. */
  private readonly onRefresh = (): void => {
    this.countMasters();
    this.outage.recheck();
    // The first command would connect a node that was added again, but an idle process sends none.
    for (const [name, { client }] of this.links) {
      if (this.outage.isBroken(name) && client.status === 'wait') client.connect().catch(() => undefined);
    }
  };

  constructor(
    private readonly cluster: Cluster,
    clock: Clock,
    template?: RedisClient,
    layout?: Layout,
  ) {
    super(cluster, clock, template, layout);
    for (const node of cluster.nodes()) this.onNode(node);
    cluster
      .on('+node', this.onNode)
      .on('-node', this.onNodeGone)
      .on('node error', this.onNodeError)
      .on('refresh', this.onRefresh);
  }

  /** The client closes its copy after an answer or a time-out, even if it was closed itself before. */
  private trackCopies(node: Redis): void {
    const duplicate = node.duplicate.bind(node);
    node.duplicate = (options) => {
      const copy = duplicate(options);
      guardSockets(copy);
      this.copies.add(copy.once('end', () => this.copies.delete(copy)));
      return copy;
    };
  }

  private countMasters(): void {
    this.sharded = this.cluster.nodes('master').length >= SHARDED_FROM;
  }

  override linkOf(lockKey: string): Link | undefined {
    return this.links.get(this.masterOf(lockKey) ?? '');
  }

  override serverOf(lockKey: string): string {
    const name = this.masterOf(lockKey);
    return name === undefined ? super.serverOf(lockKey) : addressOfMember(name);
  }

  override get trouble(): string {
    return super.trouble || (this.refusal === undefined ? '' : ` (${this.refusal})`);
  }

  /** The first command for a node connects it. Only a node that does not respond accepts no command. */
  override accepts(lockKey = ''): boolean {
    return isReady(this.cluster) && (lockKey === '' || this.linkOf(lockKey)?.overdue !== true);
  }

  /** Does nothing: a Cluster reports which node serves a slot, so the client need not reconnect. */
  override demoted(): void {}

  override inOneWrite(send: () => void): void {
    const streams = this.cluster.nodes('master').flatMap(({ stream }) => stream ?? []);
    for (const stream of streams) stream.cork();
    try {
      send();
    } finally {
      for (const stream of streams) stream.uncork();
    }
  }

  override close(): void {
    this.cluster.off('+node', this.onNode).off('-node', this.onNodeGone);
    this.cluster.off('node error', this.onNodeError).off('refresh', this.onRefresh);
    for (const link of this.links.values()) {
      link.client.off('close', this.onClose);
      link.end();
    }
    for (const copy of this.copies) copy.disconnect();
    super.close();
  }

  protected override partOf(link: Link | undefined): unknown {
    return link === undefined ? this : nameOf(link.client);
  }

  protected override isNeeded(part: unknown): boolean {
    return part === this || this.cluster.slots.some(([master]) => master === part);
  }

  /** The client reads only after a failed command which nodes serve the slots. It then adds a lost node again. */
  protected override search(): void {
    if (isReady(this.cluster)) this.cluster.refreshSlotsCache();
  }

  protected override becameReady(): void {
    this.refusal = undefined;
    this.usable();
  }

  /** Reports the error of one node, because the client reports only that all nodes failed, and then that it has none left. */
  protected override failed(error: unknown): void {
    const [node] = this.cluster.nodes();
    if (node === undefined) super.failed(this.refusal === undefined ? error : new Error(this.refusal));
    else void this.troubleOf(node).then((trouble) => super.failed(trouble ?? error, trouble && nameOf(node)));
  }

  /** Connects to a node once to find out its error. */
  private async troubleOf(node: Redis): Promise<Error | undefined> {
    let trouble: Error | undefined;
    const once = node.duplicate({ lazyConnect: true, retryStrategy: () => null });
    once.on('error', (error: Error) => (trouble ??= error));
    // The client waits without a limit for a server that accepts the connection and does not respond.
    const limit = new Deadline(() => once.stream?.destroy());
    this.timers.add(limit, COMMAND_LIMIT_MS);
    // Not after the close, which ends the timers.
    if (limit.isScheduled) await once.connect().catch((error: Error) => (trouble ??= error));
    this.timers.remove(limit);
    once.disconnect();
    return trouble;
  }

  private masterOf(lockKey: string): string | undefined {
    return this.cluster.slots[slotOf(lockKey)]?.[0];
  }
}
