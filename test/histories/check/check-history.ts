import type { HistoryEvent } from '../event.js';
import { checkCleanUp } from './clean-up.js';
import { checkContention } from './contention.js';
import { checkExclusion } from './exclusion.js';
import { checkFencing } from './fencing.js';
import { checkFreeLocks } from './free-locks.js';
import { History, type Violation } from './history.js';
import { checkKeptKeys } from './kept-keys.js';
import { checkLeases } from './leases.js';
import { checkOrder } from './order.js';
import { checkOutcomes } from './outcomes.js';
import { checkRegister } from './register.js';
import { checkTickets } from './tickets.js';
import { checkWaitBounds } from './wait-bounds.js';

/** Every rule, each in a separate file. */
const RULES = [
  checkExclusion,
  checkFencing,
  checkRegister,
  checkWaitBounds,
  checkOutcomes,
  checkContention,
  checkFreeLocks,
  checkOrder,
  checkLeases,
  checkTickets,
  checkKeptKeys,
  checkCleanUp,
];

/** The violations of the history, in the order of time. */
export function checkHistory(events: readonly HistoryEvent[]): Violation[] {
  return violations(new History(events), RULES);
}

/** In simulated time, the simulation itself checks with shorter bounds whether a lock is free, and for whom. */
const EXACT_RULES = RULES.filter((rule) => ![checkContention, checkFreeLocks, checkRegister].includes(rule));

/** The violations of a simulated history. */
export function checkExactHistory(events: readonly HistoryEvent[]): Violation[] {
  return violations(new History(events, true), EXACT_RULES);
}

function violations(history: History, rules: typeof RULES): Violation[] {
  return rules.flatMap((rule) => rule(history)).sort((a, b) => a.at - b.at);
}
