import { isLockError } from '../../../libs/distribute-lock/src/errors.js';
import type { OperationPlan } from '../plan/operation-plan.js';
import { Operation, type OperationTools } from './operation.js';
import type { KeptTicket } from './tickets.js';

/** Runs the operation, or uses a ticket if the plan says so and there is one. */
export async function runOperation(tools: OperationTools, plan: OperationPlan, op: string): Promise<void> {
  const ticket = plan.ticket === undefined ? undefined : await tools.register.tickets.take();
  if (ticket === undefined) return new Operation(tools, plan, op).run();
  if (plan.ticket === 'cancel') return cancel(tools, ticket, op);
  const { kind, permits, weight } = ticket.options;
  const attach: OperationPlan = {
    call: 'attach',
    keys: ticket.keys,
    options: { ttl: plan.options.ttl, wait: 0, kind, permits, weight },
    holdMs: plan.holdMs,
    gapMs: plan.gapMs,
    ...(plan.detach !== undefined && { detach: plan.detach }),
  };
  return new Operation(tools, attach, op, { ticket: ticket.of }, ticket.text).run();
}

async function cancel({ recorder, service }: OperationTools, ticket: KeptTicket, op: string): Promise<void> {
  const { keys, options, of } = ticket;
  recorder.record({ type: 'ask', op, call: 'cancel', keys, options, ticket: of });
  try {
    recorder.record({ type: 'cancelled', op, cancelled: await service.cancel(ticket.text) });
  } catch (error) {
    const code = isLockError(error) ? error.code : 'none';
    recorder.record({ type: 'refused', op, code, message: String(error) });
  }
}
