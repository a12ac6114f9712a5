/** What only processes with several keys do: they ask for both locks in one command. */
import { processName, sent, type KindMoves } from './client.js';
import { FREE, TRYING } from './state.js';

export const moveMultiKey: KindMoves = (rules, state, slot, emit) => {
  if (slot % 2 === 1 || state.phases[slot] !== state.phases[slot + 1]) return;
  if (state.phases[slot] !== FREE && state.phases[slot] !== TRYING) return;
  const copy = sent(rules, state, 'm', slot, slot + 1);
  if (copy === undefined) return;
  copy.phases[slot] = TRYING;
  copy.phases[slot + 1] = TRYING;
  emit(copy, () => `${processName(rules, slot)} requests both locks at once`, false);
};
