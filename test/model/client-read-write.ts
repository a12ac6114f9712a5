/** What only processes with read/write locks do: downgrade and take over. */
import { processName, sent, type KindMoves } from './client.js';
import { ticketOf } from './rules.js';
import { ABANDONED, FREE, HOLDING, TRYING, VOID } from './state.js';

export const moveReadWrite: KindMoves = (rules, state, slot, emit) => {
  const { config, names } = rules;
  if (config.slots[slot % config.slots.length].isReader) return;
  const phase = state.phases[slot];
  const first = slot - (slot % config.slots.length);
  if (phase === FREE) {
    if (config.slots.slice(0, slot - first).some((_, i) => state.phases[first + i] === FREE)) return;
    const copy = sent(rules, state, 's', slot);
    if (copy === undefined) return;
    copy.phases[slot] = TRYING;
    emit(copy, () => `${processName(rules, slot)} takes the lock over with ${names.tokens[slot]}`, false);
  }
  if (phase !== HOLDING && phase !== VOID) return;
  // A process makes one change of a lease at a time, and a change without a reply ends the lease.
  if (config.tickets && state.phases[ticketOf(rules, slot)] === TRYING) return;
  const reader = config.slots.findIndex(({ isReader }, i) => isReader && state.phases[first + i] === FREE);
  const copy = reader < 0 ? undefined : sent(rules, state, 'g', slot, first + reader);
  if (copy === undefined) return;
  // The process is a reader from now on; the lease of the writer covers it until the command is executed.
  copy.phases[first + reader] = phase;
  copy.lefts[first + reader] = state.lefts[slot];
  copy.phases[slot] = ABANDONED;
  copy.lefts[slot] = 0;
  emit(
    copy,
    () => `${processName(rules, slot)} downgrades ${names.tokens[slot]} to ${names.tokens[first + reader]}`,
    false,
  );
};
