import type { Redis } from 'ioredis';

import type { RecordedOptions } from '../event.js';

/** A ticket that a caller of any process may use. */
export interface KeptTicket {
  readonly text: string;
  /** The operation that detached the lease. */
  readonly of: string;
  readonly keys: readonly string[];
  readonly options: RecordedOptions;
}

const TICKETS = 'tickets';

/** Carries tickets from one process to another, on a server without faults. A random one is next, so some are used late. */
export class TicketBox {
  constructor(private readonly redis: Redis) {}

  async put(ticket: KeptTicket, copies: number): Promise<void> {
    for (let copy = 0; copy < copies; copy += 1) await this.redis.sadd(TICKETS, JSON.stringify({ ...ticket, copy }));
  }

  async take(): Promise<KeptTicket | undefined> {
    const text = await this.redis.spop(TICKETS);
    return text === null ? undefined : (JSON.parse(text) as KeptTicket);
  }
}
