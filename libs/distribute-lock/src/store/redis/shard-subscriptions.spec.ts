import { EventEmitter } from 'node:events';

import { ManualClock } from '../../../../../test/support/manual-clock.js';
import { Timers } from '../../runtime/timers.js';
import type { RedisConnection } from './redis-connection.js';
import { ShardSubscriptions } from './shard-subscriptions.js';

const CHANNEL = 'nestjs-lock:1:lock:aaaaaaaaaaa:f1:{lock:a}:5';

/** A connection to one server, which records the commands for sharded channels. */
class FakeNode extends EventEmitter {
  readonly options = { host: '127.0.0.1', port: 7_000 };
  readonly stream = { destroy: () => undefined, on: () => undefined, bytesRead: 0 };
  readonly sent: string[] = [];
  readonly copies: FakeNode[] = [];
  status = 'wait';
  refuses = false;
  closed = false;

  duplicate(): FakeNode {
    const copy = new FakeNode();
    copy.refuses = this.refuses;
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
    if (this.refuses) throw new Error('NOPERM');
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

describe('ShardSubscriptions.waitFor', () => {
  it('subscribes once while the waiter repeats its attempt, and ends 30 s after the last one', async () => {
    const { clock, node, shards } = start();
    for (let i = 0; i < 50; i += 1) {
      shards.waitFor('lock:a', CHANNEL);
      await clock.pass(1_300);
    }
    const [copy] = node.copies;
    expect(copy.sent.filter((sent) => sent !== 'ping')).toEqual([`+ ${CHANNEL}`]);

    await clock.pass(25_000);
    expect(copy.closed).toBe(false);
    await clock.pass(10_000);
    expect(copy.sent.filter((sent) => sent !== 'ping')).toEqual([`+ ${CHANNEL}`, `- ${CHANNEL}`]);
    expect(copy.closed).toBe(true);
    expect(node.copies).toHaveLength(1);
    shards.close();
  });

  it('subscribes on the next attempt when the server refused, the connection ended or a slot moved', async () => {
    const { clock, node, shards } = start();
    node.refuses = true;
    shards.waitFor('lock:a', CHANNEL);
    await clock.pass(10);
    node.copies[0].refuses = false;
    shards.waitFor('lock:a', CHANNEL);
    await clock.pass(10);
    expect(node.copies[0].sent).toHaveLength(2);

    node.copies[0].emit('moved');
    shards.waitFor('lock:a', CHANNEL);
    await clock.pass(10);
    expect(node.copies[0].sent).toHaveLength(3);

    node.refuses = false;
    node.copies[0].emit('end');
    shards.waitFor('lock:a', CHANNEL);
    await clock.pass(10);
    expect(node.copies[1].sent).toEqual([`+ ${CHANNEL}`]);
    shards.close();
  });

  it('passes messages on', async () => {
    const { clock, node, received, shards } = start();
    shards.waitFor('lock:a', CHANNEL);
    await clock.pass(10);
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
