import { markTicketScript } from '../generated/lua-scripts.js';
import type { LeaseTickets, MoveAnswer, MoveRequest, TicketRecord } from '../lock-store.js';
import { markOf, ticketRecord } from '../ticket-record.js';
import { COMMAND_LIMIT_MS } from './link.js';
import type { RedisCommands } from './redis-commands.js';
import type { RedisConnection } from './redis-connection.js';
import { inTime, messageOf, storeError, unknownReply } from './redis-errors.js';
import type { RedisKeys } from './redis-keys.js';
import { isLeftMs } from '../reply-checks.js';

/** Leases that travel, on one Redis primary or in a Cluster. Calls for tickets are rare, so their records use plain commands. */
export class RedisTickets implements LeaseTickets {
  readonly scope: string;

  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
    /** With `durability`, these wait for replicas. */
    private readonly commands: RedisCommands,
  ) {
    this.scope = keys.prefix;
  }

  move(request: MoveRequest): PromiseLike<MoveAnswer> {
    return this.commands.move(request);
  }

  async keep(id: string, text: string, ttlMs: number): Promise<void> {
    const name = this.keys.ticket(id);
    const reply: unknown = await this.run(name, ({ client }) => client.set(name, text, 'PX', ttlMs));
    if (reply !== 'OK') throw unknownReply(reply);
  }

  async mark(id: string, fate: 'used' | 'released'): Promise<TicketRecord | undefined> {
    const name = this.keys.ticket(id);
    const reply = await this.run(name, ({ client }) => client.eval(markTicketScript.lua, 1, name, markOf(fate)));
    if (!Array.isArray(reply)) throw unknownReply(reply);
    const [value, leftMs] = reply as unknown[];
    if (value === undefined) return undefined;
    const ms = Number(leftMs);
    if (!isLeftMs(ms)) throw unknownReply(leftMs);
    return ticketRecord(value, ms);
  }

  private async run<T>(name: string, send: (connection: RedisConnection) => Promise<T>): Promise<T> {
    const { connection } = this;
    await connection.whenReady(COMMAND_LIMIT_MS, name);
    const answer = send(connection);
    void connection.linkOf(name)?.track(answer);
    answer.catch((error: unknown) => connection.noticeDemotion(messageOf(error)));
    return inTime(answer, COMMAND_LIMIT_MS, connection.clock).catch((error: unknown) => {
      throw storeError(error, connection.serverOf(name));
    });
  }
}
