import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { Redis } from 'ioredis';

import { Random } from '../../simulation/random.js';
import { onCleanup } from '../../support/cleanup.js';

/** Number of messages in one round trip. */
const BATCH = 500;
const PAUSE_MS = 10;
/** Number of recorded genuine messages; a new one replaces the oldest. */
const MOST_RECORDED = 500;
const NUMBERS = ['', '', '5', '0', '1e9', '-1', '9'.repeat(20), '9007199254740993', '1795000000000000'];
const LETTERS = ['g', 'g', 'g', 'c', 'c', 'v', 'x', ''];
const SUFFIXES = ['', '', ':r', 'P2:1', 'P99:99'];

interface Recorded {
  readonly channel: string;
  readonly text: string;
  readonly token: string;
  readonly key: string;
}

/**
 * A client that publishes to every inbox: random bytes, repeated genuine messages, and well-formed messages about real
 * keys. Their owner tokens are made up or belong to other processes. With `secrets` they also contain tokens of the
 * receiving process, which the client reads from the queues too.
 */
export class Forger {
  private readonly random = new Random(1);
  private readonly recorded: Recorded[] = [];
  private received = 0;
  private waiting: readonly { readonly token: string; readonly key: string }[] = [];
  /** The messages that it published recently. */
  private sent: readonly [Set<string>, Set<string>] = [new Set(), new Set()];
  private readonly client: Redis;
  private readonly listening: Redis;

  constructor(
    url: string,
    private readonly keys: readonly string[],
    private readonly secrets: boolean,
  ) {
    [this.client, this.listening] = [new Redis(url), new Redis(url)];
    for (const client of [this.client, this.listening]) onCleanup(() => client.disconnect());
    this.listening.on('pmessage', (_, channel: string, text: string) => this.record(channel, text));
  }

  /** Records genuine messages from this call on. */
  async listen(): Promise<void> {
    await this.listening.psubscribe('nestjs-lock:*');
  }

  async publish(count: number): Promise<void> {
    const inboxes = (await this.client.pubsub('CHANNELS', 'nestjs-lock:*')) as string[];
    for (let left = count; left > 0; left -= BATCH) {
      if (this.secrets) await this.readQueues();
      const batch = this.client.pipeline();
      this.sent = [new Set(), this.sent[0]];
      for (let i = 0; i < Math.min(BATCH, left); i += 1) {
        const inbox = this.random.pick(inboxes);
        const text = this.text(inbox);
        this.sent[0].add(text);
        batch.publish(inbox, text);
      }
      await batch.exec();
      await sleep(PAUSE_MS);
    }
  }

  /** Reads the queues often, because a message can start a waiter only while its token is new. */
  private async readQueues(): Promise<void> {
    const names = this.keys.flatMap((key) => [`q1:{${key}}`, `sq1:{${key}}`]);
    const queues = await Promise.all(names.map((name) => this.client.zrange(name, '0', '-1')));
    this.waiting = queues.flatMap((tokens, i) => tokens.map((token) => ({ token, key: this.keys[Math.floor(i / 2)] })));
  }

  private record(channel: string, text: string): void {
    if (this.sent.some((texts) => texts.has(text))) return;
    const [, token = '', key = ''] = text.split(' ');
    this.recorded[this.received % MOST_RECORDED] = { channel, text, token, key };
    this.received += 1;
  }

  private text(inbox: string): string {
    const { random, recorded } = this;
    const kind = random.next();
    if (kind < 0.15) return randomBytes(random.int(0, 100)).toString('latin1');
    const genuine = recorded.length === 0 ? undefined : random.pick(recorded);
    if (genuine !== undefined && kind < 0.3) return genuine.text;
    const word = random.pick(LETTERS) + random.pick(NUMBERS) + (random.chance(0.2) ? '+' : '');
    if (genuine !== undefined && kind < 0.6 && (this.secrets || genuine.channel !== inbox)) {
      return `${word} ${genuine.token} ${random.chance(0.8) ? genuine.key : random.pick(this.keys)}`;
    }
    if (this.waiting.length > 0 && kind < 0.8) {
      const { token, key } = random.pick(this.waiting);
      return `${word} ${token} ${key}`;
    }
    return `${word} ${this.madeUp(inbox)} ${random.pick(this.keys)}`;
  }

  private madeUp(inbox: string): string {
    const { random } = this;
    const channelId = inbox.slice(-11);
    const token = `${channelId}${randomBytes(8).toString('base64url')}:${random.int(1, 500).toString(36)}`;
    return random.pick([
      token,
      token + random.pick(SUFFIXES),
      channelId,
      'readers',
      'semaphore:3',
      'a-foreign-value',
      '',
    ]);
  }
}
