import type { Cluster, Redis } from 'ioredis';

import type { CancelTimer, Clock } from '../../runtime/clock.js';
import { COMMAND_LIMIT_MS } from './command-batch.js';
import { expectMoreErrors } from './redis-client.js';
import { RedisConnection, SILENCE_MS } from './redis-connection.js';

/** How much longer a node may be mute after a command went unanswered. */
const PATIENCE_MS = SILENCE_MS - COMMAND_LIMIT_MS;

/** One client of a whole Cluster, and the state of its connections to the nodes. */
export class ClusterConnection extends RedisConnection {
  override readonly clustered = true;
  private readonly nodes = new Set<Redis>();
  private readonly suspects = new Map<Redis, CancelTimer>();
  /** An answer is certain only if no node was lost meanwhile: the client sends again what was under way. */
  private readonly onClose = (): void => void (this.epoch += 1);
  private readonly onNode = (node: Redis): void => {
    this.nodes.add(node);
    node.on('close', this.onClose);
    if (this.owned) node.on('error', () => expectMoreErrors(node));
  };
  private readonly onNodeGone = (node: Redis): void => {
    this.epoch += 1;
    this.forget(node);
  };

  constructor(
    private readonly cluster: Cluster,
    owned: boolean,
    clock: Clock,
  ) {
    super(cluster, owned, clock);
    for (const node of cluster.nodes()) this.onNode(node);
    cluster.on('+node', this.onNode).on('-node', this.onNodeGone);
  }

  /** Which node is mute is not known yet: all are asked, and those that do not answer are given up. */
  override silent(): void {
    if (!this.owned) return;
    for (const node of this.cluster.nodes()) {
      if (node.status === 'ready' && !this.suspects.has(node)) this.suspect(node);
    }
  }

  /** A Cluster says who serves a slot, so nobody has to be asked anew. */
  override demoted(): void {}

  override together(send: () => void): void {
    const streams = this.cluster.nodes('master').flatMap(({ stream }) => stream ?? []);
    for (const stream of streams) stream.cork();
    send();
    for (const stream of streams) stream.uncork();
  }

  override close(): void {
    this.cluster.off('+node', this.onNode).off('-node', this.onNodeGone);
    for (const node of this.nodes) this.forget(node);
    for (const cancel of this.suspects.values()) cancel();
    super.close();
  }

  /** The client itself says no more than that all nodes failed. */
  protected override failed(error: unknown): void {
    const [node] = this.cluster.nodes();
    if (node === undefined) super.failed(error);
    else void troubleOf(node).then((trouble) => super.failed(trouble ?? error));
  }

  private suspect(node: Redis): void {
    const cancel = this.clock.after(PATIENCE_MS, () => {
      this.suspects.delete(node);
      if (node.status === 'ready') node.disconnect(true);
    });
    this.suspects.set(node, cancel);
    const answered = (): void => {
      cancel();
      this.suspects.delete(node);
    };
    node.ping().then(answered, answered);
  }

  private forget(node: Redis): void {
    node.off('close', this.onClose);
    this.nodes.delete(node);
  }
}

/** Why a node cannot be used, by trying once. */
async function troubleOf(node: Redis): Promise<Error | undefined> {
  let trouble: Error | undefined;
  const once = node.duplicate({ lazyConnect: true, retryStrategy: () => null });
  once.on('error', (error: Error) => {
    trouble ??= error;
    expectMoreErrors(once);
  });
  await once.connect().catch((error: Error) => (trouble ??= error));
  once.disconnect();
  return trouble;
}
