import { membersScript, quorumScript } from '../generated/lua-scripts.js';
import { LockStoreError, type ConnectionListener, type LockStoreListener } from '../lock-store.js';
import { FENCE_TOO_LOW, MEMBERS, NO_VOTE, OTHER_COUNT, TOO_LATE, VOTE, VOTED_BEFORE } from '../protocol/reply-codes.js';
import { REPLY_WORDS } from '../redis/command.js';
import { COMMAND_LIMIT_MS, type Link } from '../redis/link.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { isUnknownScript, storeError, isWrongType, namingKeys, unknownReply } from '../redis/redis-errors.js';
import { RedisKeys } from '../redis/redis-keys.js';
import { isCount, isFencingToken, isLeftMs } from '../reply-checks.js';
import type { RedisOptions } from 'ioredis';
import type { CredentialsSource } from '../redis/credentials.js';
import { Inbox } from '../redis/messages/inbox.js';
import { connectionTo } from '../redis/connection-to.js';
import type { RedisClient } from '../redis/redis-client.js';

/** Reply of the script `quorum` or `members`; `runQuorumStep` and `runMembers` say what it means. */
export type NodeReply = readonly [code: number, x: number, y: number | string];

/** A command of the script `quorum` with its arguments, or `m` with those of the script `members`. */
export type StepWords = readonly (string | number)[];

/** Runs commands on one node of a quorum. */
export interface NodeConnection {
  readonly ready: boolean;
  /** Increases when the connection is lost: an unanswered command may then be sent and executed twice. */
  readonly epoch: number;
  /** The last connection error, for messages. */
  readonly trouble: string;
  /** Rejects with the known cause at the limit, and when the connection is closed. */
  whenReady(limitMs: number): Promise<void>;
  /** Reports outages of the connection. */
  observeConnection?(listener: ConnectionListener): void;
  /**
   * Runs one step of the script `quorum` or the script `members`; rejects with a `LockStoreError`. A step for a vote that arrives too
   * late has no effect and is sent again while `isWanted` returns true.
   */
  run(key: string, words: StepWords, isWanted: () => boolean): Promise<NodeReply>;
  close(): void;
}

/** The inbox of one node. */
export interface NodeInbox {
  /** Resolves when messages arrive. They continue across reconnects. */
  open(processId: string, listener: LockStoreListener): Promise<void>;
  /** Sets whether waiters depend on messages. */
  messagesExpected?(expected: boolean): void;
  /** Reports that a message did not arrive. */
  messageMissed?(): void;
  close(): void;
}

/** The connection to a node and its messages. */
export interface QuorumMember {
  readonly connection: NodeConnection;
  readonly inbox: NodeInbox;
}

/** One independent Redis primary. */
class RedisNodeConnection implements NodeConnection {
  constructor(
    readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
    private readonly inbox: Inbox,
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

  observeConnection(listener: ConnectionListener): void {
    this.connection.outage.listen(listener);
  }

  async run(key: string, words: StepWords, isWanted: () => boolean): Promise<NodeReply> {
    const lock = this.keys.lock(key);
    const link = this.connection.linkOf(lock)!;
    if (words[0] === 'm') return checkedMembers(await this.sendMembers(link, words.slice(1)));
    const sentAt = this.connection.clock.now();
    for (;;) {
      link.refreshClock(sentAt);
      const deadlineMs = link.serverClock.deadline(sentAt, COMMAND_LIMIT_MS);
      const reply = checked(await this.send(link, lock, [...words, deadlineMs]), words[0]);
      if (reply[0] === NO_VOTE && words[0] === 'w') this.inbox.waitFor(String(words[2]), lock);
      if (reply[0] !== TOO_LATE) return reply;
      link.serverClock.correct(reply[1], sentAt);
      void link.readClock();
      if (!isWanted())
        throw new LockStoreError('The command reached Redis after its deadline and had no effect.', true);
    }
  }

  close(): void {
    this.connection.close();
  }

  private async send(link: Link, lock: string, words: StepWords): Promise<unknown> {
    const { client } = this.connection;
    const keys = [lock, this.keys.queue(lock), this.keys.fenceOf(lock)];
    try {
      return await link.track(client.evalsha(quorumScript.sha1, keys.length, ...keys, ...words));
    } catch (error) {
      if (!isUnknownScript(error)) throw await this.named(error, keys);
    }
    try {
      return await link.track(client.eval(quorumScript.lua, keys.length, ...keys, ...words));
    } catch (error) {
      throw await this.named(error, keys);
    }
  }

  /** The script is sent as a whole, because it is rarely called. */
  private async sendMembers(link: Link, words: StepWords): Promise<unknown> {
    const { members } = this.keys;
    try {
      return await link.track(this.connection.client.eval(membersScript.lua, 1, members, ...words));
    } catch (error) {
      throw await this.named(error, [members]);
    }
  }

  private async named(error: unknown, keys: readonly string[]): Promise<Error> {
    const known = storeError(error);
    return isWrongType(known) ? namingKeys(known, keys, this.connection.client) : known;
  }
}

/** Highest reply code of the script `quorum` for each command. */
const HIGHEST_CODE: Readonly<Record<string, number>> = {
  a: VOTED_BEFORE,
  w: VOTED_BEFORE,
  f: FENCE_TOO_LOW,
  d: VOTE,
  n: VOTE,
  l: VOTE,
};

/** Validates a reply of the script `quorum` to the command. */
function checked(reply: unknown, command: string | number): NodeReply {
  if (!Array.isArray(reply) || reply.length !== REPLY_WORDS) throw unknownReply(reply);
  const [code, x, y] = reply as readonly unknown[];
  if (code === TOO_LATE && isCount(x)) return [code, x, 0];
  const asksForVote = command === 'a' || command === 'w';
  if (!isCount(code) || code > (HIGHEST_CODE[command] ?? NO_VOTE)) throw unknownReply(reply);
  const isGranted = asksForVote && code !== NO_VOTE;
  if (!(isGranted ? isFencingToken(x) : isLeftMs(x))) throw unknownReply(reply);
  if (asksForVote && code === NO_VOTE ? typeof y !== 'string' : !isCount(y)) throw unknownReply(reply);
  return [code, x as number, y as number | string];
}

const IDS = /^[\w-]{22}(?: [\w-]{22})*$/;

/** Validates a reply of the script `members`. */
function checkedMembers(reply: unknown): NodeReply {
  if (!Array.isArray(reply) || reply.length !== REPLY_WORDS) throw unknownReply(reply);
  const [code, x, y] = reply as readonly unknown[];
  if (!isCount(code) || code < MEMBERS || code > OTHER_COUNT || !isCount(x)) throw unknownReply(reply);
  const isKnown = typeof y === 'string' && (code === OTHER_COUNT ? /^\d+$/ : IDS).test(y);
  if (!isKnown || (code === MEMBERS && y.includes(' '))) throw unknownReply(reply);
  return [code, x, y];
}

/** A node with a dedicated connection, which opens with the first command. */
export function openMember(
  source: string | RedisOptions | RedisClient,
  prefix: string,
  credentials?: CredentialsSource,
): QuorumMember {
  const { connection, keyPrefix } = connectionTo(source, credentials);
  const keys = new RedisKeys(keyPrefix + prefix);
  const inbox = new Inbox(connection, keys);
  return { connection: new RedisNodeConnection(connection, keys, inbox), inbox };
}
