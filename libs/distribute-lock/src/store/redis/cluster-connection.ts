import type { Cluster, Redis } from 'ioredis';

import type { Clock } from '../../runtime/clock.js';
import { Link } from './link.js';
import { isReady, keyPrefixOf, type RedisClient } from './redis-client.js';
import { RedisConnection } from './redis-connection.js';
import { slotOf } from './slot.js';

/** One client of a whole Cluster, with a link for the connection to each node. */
export class ClusterConnection extends RedisConnection {
  override readonly clustered = true;
  /** By `host:port`, as the client names nodes. */
  private readonly links = new Map<string, Link>();
  private readonly keyPrefix: string;
  /** An answer is certain only if no node was lost since its command: the client sends again what was under way. */
  private readonly onClose = (): void => void (this.epoch += 1);
  private readonly onNode = (node: Redis): void => {
    node.on('close', this.onClose);
    const { clock, timers } = this;
    this.links.set(nameOf(node), new Link(node, { clock, timers, listener: this }));
  };
  private readonly onNodeGone = (node: Redis): void => {
    this.epoch += 1;
    node.off('close', this.onClose);
    const name = nameOf(node);
    const link = this.links.get(name);
    if (link?.client !== node) return;
    link.end();
    this.links.delete(name);
    // The client asks another node who serves the slots now.
    this.resolveWaiting();
  };

  constructor(
    private readonly cluster: Cluster,
    clock: Clock,
    template?: RedisClient,
  ) {
    super(cluster, clock, template);
    this.keyPrefix = keyPrefixOf(cluster);
    for (const node of cluster.nodes()) this.onNode(node);
    cluster.on('+node', this.onNode).on('-node', this.onNodeGone);
  }

  override linkOf(lockKey: string): Link | undefined {
    const [name] = this.cluster.slots[slotOf(this.keyPrefix + lockKey)] ?? [];
    return name === undefined ? undefined : this.links.get(name);
  }

  /** A node is connected to with the first command for it, so only one that does not respond accepts none. */
  override accepts(lockKey = ''): boolean {
    return isReady(this.cluster) && (lockKey === '' || this.linkOf(lockKey)?.overdue !== true);
  }

  /** A Cluster says who serves a slot, so no connection has to be made anew. */
  override demoted(): void {}

  override together(send: () => void): void {
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
    for (const { client } of this.links.values()) client.off('close', this.onClose);
    for (const link of this.links.values()) link.end();
    super.close();
  }

  protected override becameReady(): void {
    this.usable();
  }

  /** The client itself says no more than that all nodes failed. */
  protected override failed(error: unknown): void {
    const [node] = this.cluster.nodes();
    if (node === undefined) super.failed(error);
    else void troubleOf(node).then((trouble) => super.failed(trouble ?? error));
  }
}

const nameOf = ({ options: { host, port } }: Redis): string => `${host}:${port}`;

/** Why a node cannot be used, by trying once. */
async function troubleOf(node: Redis): Promise<Error | undefined> {
  let trouble: Error | undefined;
  const once = node.duplicate({ lazyConnect: true, retryStrategy: () => null });
  // Every error is listened to, also a second one of the same socket.
  once.on('error', (error: Error) => {
    trouble ??= error;
    once.stream?.once('error', () => undefined);
  });
  await once.connect().catch((error: Error) => (trouble ??= error));
  once.disconnect();
  return trouble;
}
