import { EventEmitter } from 'node:events';

import { ManualClock } from '../../../../../../test/support/manual-clock.js';
import { Timers } from '../../../runtime/timers.js';
import type { RedisConnection } from '../redis-connection.js';
import { ShardSubscriptions } from './shard-subscriptions.js';

const CHANNEL = 'nestjs-lock:1:lock:aaaaaaaaaaa:f1:{lock:a}:5';

/** A connection to one server, which records the commands for sharded channels. */
class FakeNode extends EventEmitter {
  readonly options = { host: '127.0.0.1', port: 7_000 };
  readonly stream = { destroy: () => undefined, on: () => undefined, bytesRead: 0 };
  readonly sent: string[] = [];
  readonly copies: FakeNode[] = [];
  status = 'wait';
  /** What the server answers instead of a subscription. */
  refusal: string | undefined;
  closed = false;

  duplicate(): FakeNode {
    const copy = new FakeNode();
    copy.refusal = this.refusal;
    this.copies.push(copy);
    return copy;
  }

  async connect(): Promise<void> {
    this.status = 'ready';
    this.emit('ready');
  }

  async time(): Promise<string[]> {
    return ['1', '0'];
  }

  async ping(): Promise<string> {
    this.sent.push('ping');
    return 'PONG';
  }

  async ssubscribe(channel: string): Promise<number> {
    this.sent.push(`+ ${channel}`);
    if (this.refusal !== undefined) throw Object.assign(new Error(this.refusal), { name: 'ReplyError' });
    return 1;
  }

  async sunsubscribe(channel: string): Promise<number> {
    this.sent.push(`- ${channel}`);
    return 0;
  }

  disconnect(): void {
    this.closed = true;
    this.emit('end');
  }
}

function start() {
  const clock = new ManualClock();
  const node = new FakeNode();
  const received: string[] = [];
  const connection = { clock, timers: new Timers(clock), linkOf: () => ({ client: node }) };
  const shards = new ShardSubscriptions(connection as unknown as RedisConnection, (text) => received.push(text));
  return { clock, node, received, shards };
}

async function startSubscribed() {
  const started = start();
  started.shards.waitFor('lock:a', CHANNEL);
  await started.clock.pass(10);
  return started;
}

describe('ShardSubscriptions.waitFor', () => {
  it('subscribes once while the waiter repeats its attempt, and ends 30 s after the last one', async () => {
    const { clock, node, shards } = start();
    for (let i = 0; i < 50; i += 1) {
      shards.waitFor('lock:a', CHANNEL);
      await clock.pass(1_300);
    }
    const [copy] = node.copies;
    const subscriptions = () => copy.sent.filter((sent) => sent !== 'ping');
    expect(subscriptions()).toEqual([`+ ${CHANNEL}`]);

    await clock.pass(25_000);
    expect(subscriptions()).toEqual([`+ ${CHANNEL}`]);
    await clock.pass(10_000);
    expect(subscriptions()).toEqual([`+ ${CHANNEL}`, `- ${CHANNEL}`]);
    // A message may still be on its way.
    expect(copy.closed).toBe(false);
    await clock.pass(5_000);
    expect(copy.closed).toBe(true);
    expect(node.copies).toHaveLength(1);
    shards.close();
  });

  it('sends no further command for ten minutes when the server refuses it', async () => {
    const { clock, node, shards } = start();
    node.refusal = "NOPERM this user has no permissions to run the 'ssubscribe' command";
    for (let i = 0; i < 10; i += 1) {
      shards.waitFor('lock:a', CHANNEL);
      await clock.pass(1_300);
    }
    expect(node.copies.map(({ sent, closed }) => [sent.filter((text) => text !== 'ping'), closed])).toEqual([
      [[`+ ${CHANNEL}`], true],
    ]);

    await clock.pass(600_000);
    node.refusal = undefined;
    shards.waitFor('lock:a', CHANNEL);
    await clock.pass(10);
    expect(node.copies[1].sent).toEqual([`+ ${CHANNEL}`]);
    shards.close();
  });

  it.each(['MOVED 1 127.0.0.1:7001', 'CLUSTERDOWN The cluster is down'])(
    'subscribes on the next attempt after %s',
    async (refusal) => {
      const { clock, node, shards } = start();
      node.refusal = refusal;
      shards.waitFor('lock:a', CHANNEL);
      await clock.pass(10);
      node.copies[0].refusal = undefined;
      shards.waitFor('lock:a', CHANNEL);
      await clock.pass(10);
      expect(node.copies[0].sent).toEqual([`+ ${CHANNEL}`, `+ ${CHANNEL}`]);
      shards.close();
    },
  );

  it('subscribes on the next attempt, on another connection, after a slot moved', async () => {
    const { clock, node, shards } = await startSubscribed();
    node.copies[0].emit('moved');
    expect(node.copies[0].closed).toBe(true);
    shards.waitFor('lock:a', CHANNEL);
    await clock.pass(10);
    expect(node.copies[1].sent).toEqual([`+ ${CHANNEL}`]);
    shards.close();
  });

  it('subscribes again without an attempt after the connection was lost, because a server may still count it', async () => {
    const { clock, node, shards } = await startSubscribed();
    node.copies[0].emit('end');
    await clock.pass(5_000);
    expect(node.copies[1].sent).toEqual([`+ ${CHANNEL}`]);

    await clock.pass(15 * 60_000);
    expect(node.copies[1].sent).not.toContain(`- ${CHANNEL}`);
    await clock.pass(2 * 60_000);
    expect(node.copies[1].sent).toContain(`- ${CHANNEL}`);
    shards.close();
  });

  it('probes the connection like that of the inbox while waiters depend on messages', async () => {
    const { clock, node, shards } = start();
    const probes = () => node.copies[0].sent.filter((sent) => sent === 'ping').length;
    shards.messagesExpected(true);
    shards.waitFor('lock:a', CHANNEL);
    await clock.pass(10_000);
    expect(probes()).toBeGreaterThanOrEqual(4);

    shards.messagesExpected(false);
    const before = probes();
    await clock.pass(9_000);
    expect(probes()).toBeLessThanOrEqual(before + 1);
    shards.close();
  });

  it('passes messages on', async () => {
    const { node, received, shards } = await startSubscribed();
    node.copies[0].emit('smessage', CHANNEL, 'g1 token lock:a');
    expect(received).toEqual(['g1 token lock:a']);
    shards.close();
  });

  it('subscribes to 1,000 channels at most', async () => {
    const { clock, node, shards } = start();
    for (let i = 0; i < 1_010; i += 1) shards.waitFor(`lock:${i}`, `channel ${i}`);
    await clock.pass(10);
    expect(node.copies[0].sent).toHaveLength(1_000);
    shards.close();
  });

  it('opens no connection after the close', () => {
    const { node, shards } = start();
    shards.waitFor('lock:a', CHANNEL);
    shards.close();
    shards.waitFor('lock:a', CHANNEL);
    expect(node.copies.map(({ closed }) => closed)).toEqual([true]);
  });
});
