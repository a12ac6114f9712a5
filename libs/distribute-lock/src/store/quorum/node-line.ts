import { quorumScript } from '../../scripts/generated/lua-scripts.js';
import { LockStoreError } from '../lock-store.js';
import { TOO_LATE } from '../redis/command.js';
import { COMMAND_LIMIT_MS, type Link } from '../redis/link.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { messageOf, storeError } from '../redis/redis-errors.js';
import type { RedisKeys } from '../redis/redis-keys.js';

/** What `quorum.lua` answers; its header says what the numbers mean. */
export type NodeReply = readonly [code: number, x: number, y: number | string];

/** The way to one node of a quorum. */
export interface NodeLine {
  readonly ready: boolean;
  /** Rises whenever the connection was lost: unanswered commands may then be sent, and applied, twice. */
  readonly epoch: number;
  /** What went wrong last, for messages. */
  readonly trouble: string;
  whenReady(limitMs: number): Promise<void>;
  /**
   * Runs one step of `quorum.lua`; rejects with a `LockStoreError`. Without words it only proves that the node answers. A step that
   * the node executes too late is sent again while it is wanted; otherwise it has had no effect.
   */
  run(key: string, words: readonly (string | number)[], isWanted: () => boolean): Promise<NodeReply>;
  close(): void;
}

/** One independent Redis primary. */
export class RedisNodeLine implements NodeLine {
  constructor(
    readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
  ) {}

  get ready(): boolean {
    return this.connection.accepts();
  }

  get epoch(): number {
    return this.connection.epoch;
  }

  get trouble(): string {
    return this.connection.trouble;
  }

  whenReady(limitMs: number): Promise<void> {
    return this.connection.whenReady(limitMs);
  }

  async run(key: string, words: readonly (string | number)[], isWanted: () => boolean): Promise<NodeReply> {
    const lock = this.keys.lock(key);
    const link = this.connection.linkOf(lock)!;
    const sentAt = this.connection.clock.now();
    for (;;) {
      link.refreshClock(sentAt);
      const deadlineMs = link.serverClock.deadline(sentAt, COMMAND_LIMIT_MS);
      const reply = await this.send(link, lock, words.length === 0 ? words : [...words, deadlineMs]);
      if (reply[0] !== TOO_LATE) return reply;
      link.serverClock.correct(reply[1], sentAt);
      void link.readClock();
      if (!isWanted()) throw new LockStoreError('Redis has executed the command too late, so it had no effect.', true);
    }
  }

  close(): void {
    this.connection.close();
  }

  private async send(link: Link, lock: string, words: readonly (string | number)[]): Promise<NodeReply> {
    const { client } = this.connection;
    const keys = [lock, this.keys.queue(lock), this.keys.fenceOf(lock)];
    try {
      return (await link.track(client.evalsha(quorumScript.sha1, keys.length, ...keys, ...words))) as NodeReply;
    } catch (error) {
      if (!messageOf(error).startsWith('NOSCRIPT')) throw storeError(error);
    }
    try {
      return (await link.track(client.eval(quorumScript.lua, keys.length, ...keys, ...words))) as NodeReply;
    } catch (error) {
      throw storeError(error);
    }
  }
}
