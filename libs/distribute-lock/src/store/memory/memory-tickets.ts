import type { LeaseTickets } from '../lock-store.js';
import { runMarkTicket } from '../protocol/mark-ticket.js';
import { runRule } from '../protocol/run-rule.js';
import { markOf, ticketRecord } from '../ticket-record.js';
import { NAMES, type MemoryLocks } from './memory-locks.js';

/** Leases that travel between the lock engines of one process. */
export const memoryTickets = (locks: MemoryLocks): LeaseTickets => ({
  scope: '',
  move: async (request) => locks.move(request),
  keep: async (id, text, ttlMs) => void locks.server.call('SET', NAMES.ticket(id), text, 'PX', ttlMs),
  mark: async (id, fate) => {
    const [value, leftMs] = runRule(runMarkTicket, locks.server, [NAMES.ticket(id)], [markOf(fate)]);
    return ticketRecord(value, leftMs as number);
  },
});
