import type { LockMessage, LockStoreListener } from '../lock-store.js';
import type { Clock } from '../../runtime/clock.js';
import { keyPrefixOf, speaksResp3, type RedisClient } from './redis-client.js';
import { RedisConnection } from './redis-connection.js';
import { COMMAND_LIMIT_MS } from './command-batch.js';

/** Scripts publish to this and the process id. */
const CHANNEL_PREFIX = 'nestjs-lock:';
const TYPES: Readonly<Record<string, LockMessage['type']>> = { g: 'granted', c: 'contended' };

/**
 * The one subscription of a process. It shares our own connection where the server speaks RESP3; a client that was given is
 * never subscribed, a duplicate of it is.
 */
export class Inbox {
  private connection: RedisConnection | undefined;
  private readonly ends: (() => void)[] = [];

  constructor(
    private readonly commands: RedisConnection,
    private readonly prefix: string,
    private readonly clock: Clock,
  ) {}

  /** Resolves when messages arrive; they are handed to the listener from then on, across reconnects. */
  async open(processId: string, listener: LockStoreListener): Promise<void> {
    const channel = CHANNEL_PREFIX + processId;
    await this.commands.whenReady(COMMAND_LIMIT_MS);
    this.connection ??= this.choose();
    const { client } = this.connection;
    await this.connection.whenReady(COMMAND_LIMIT_MS);
    await client.subscribe(channel);
    if (this.ends.length > 0) return;
    const lockPrefix = keyPrefixOf(this.commands.client) + this.prefix;
    const onMessage = (_: string, text: string): void => {
      const message = parse(text, lockPrefix);
      if (message !== undefined) listener.message(message);
    };
    // Messages sent while the connection was away are gone: whoever waits asks again once the subscription stands.
    const onReady = (): void => {
      client.subscribe(channel).then(
        () => listener.resubscribed(),
        () => undefined,
      );
    };
    client.on('message', onMessage).on('ready', onReady);
    this.ends.push(() => void client.off('message', onMessage).off('ready', onReady));
  }

  close(): void {
    for (const end of this.ends.splice(0)) end();
    if (this.connection !== this.commands) this.connection?.close();
  }

  private choose(): RedisConnection {
    const { client, owned } = this.commands;
    if (owned && speaksResp3(client)) return this.commands;
    return new RedisConnection((client.duplicate as () => RedisClient).call(client), true, this.clock);
  }
}

/** `<g|c> <owner token> <lock key>`; a key may contain spaces. */
function parse(text: string, lockPrefix: string): LockMessage | undefined {
  const [, letter = '', ownerToken = '', lockKey = ''] = /^(\w) (\S+) ([\s\S]*)$/.exec(text) ?? [];
  const type = TYPES[letter];
  if (type === undefined || !lockKey.startsWith(lockPrefix)) return undefined;
  return { type, ownerToken, key: lockKey.slice(lockPrefix.length) };
}
