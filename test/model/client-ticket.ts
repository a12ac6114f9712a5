/**
 * Detached leases: a holder moves its lease to the token of a ticket, which no process renews. A process that knows the ticket
 * moves it to one of its tokens, or releases it. Until the reply arrives no process knows the ticket, and its token is
 * TRYING; afterwards it is HOLDING until it is used, cancelled or expired.
 */
import { processName, sent, type KindMoves } from './client.js';
import { ticketOf } from './rules.js';
import { ABANDONED, copyOf, FREE, HOLDING, TRYING, VOID } from './state.js';

/** The moves of a holder that detaches its lease. */
export const moveHolder: KindMoves = (rules, state, slot, emit) => {
  const { config, names } = rules;
  if (!config.tickets || config.slots[slot % config.slots.length].isReader) return;
  if (state.phases[slot] !== HOLDING && state.phases[slot] !== VOID) return;
  const to = ticketOf(rules, slot);
  if (state.phases[to] !== FREE) return;
  const copy = sent(rules, state, 't', slot, to);
  if (copy === undefined) return;
  // The reply may be lost, and the detached lease is shorter.
  copy.lefts[slot] = Math.min(copy.lefts[slot], config.detachedMs);
  copy.phases[to] = TRYING;
  emit(copy, () => `${processName(rules, slot)} detaches ${names.tokens[slot]} as ${names.tokens[to]}`, false);
};

/** The moves of all processes with the token of a ticket. A process may use it too late, or again. */
export const moveTicket: KindMoves = (rules, state, slot, emit) => {
  const { config, names } = rules;
  if (state.phases[slot] === FREE) return;
  const known = state.phases[slot] !== TRYING;
  if (!known && isHeld(rules, state, slot)) return;
  for (let process = 0; process < config.processes; process += 1) {
    const to = process * config.slots.length + (slot % config.slots.length);
    if ((state.live & (1 << process)) === 0 || state.phases[to] !== FREE) continue;
    const copy = known ? sent(rules, state, 't', slot, to) : undefined;
    if (copy === undefined) continue;
    copy.phases[to] = TRYING;
    emit(copy, () => `${processName(rules, to)} attaches ${names.tokens[slot]} as ${names.tokens[to]}`, false);
  }
  const cancelled = sent(rules, state, 'd', slot);
  if (cancelled === undefined) return;
  cancelled.phases[slot] = ABANDONED;
  cancelled.lefts[slot] = 0;
  emit(cancelled, () => `a process cancels ${names.tokens[slot]}`, false);
};

/** Whether a process may still rely on the lease that it detached without a reply. It then undoes the command no earlier. */
function isHeld({ config }: Parameters<KindMoves>[0], { phases }: Parameters<KindMoves>[1], slot: number): boolean {
  for (let process = 0; process < config.processes; process += 1) {
    const phase = phases[process * config.slots.length + (slot % config.slots.length)];
    if (phase === HOLDING || phase === VOID) return true;
  }
  return false;
}

/** After the server has moved a detached lease, the ticket is used. Changes `state`. */
export function useTicket(state: ReturnType<typeof copyOf>, slot: number): void {
  state.phases[slot] = ABANDONED;
  state.lefts[slot] = 0;
}
