/**
 * All safety measures: the code, its replacement without the measure, and the test that must fail then. `file` is below
 * libs/distribute-lock/src and contains `measure` exactly once. without-measures.mjs runs them; docs/reference/measures.md
 * has them as a table.
 */
import { measuresOfLateEffects } from './late-effects.mjs';
import { measuresOfLinks } from './links.mjs';
import { measuresOfOneCall } from './one-call.mjs';
import { measuresOfHolds } from './holds.mjs';
import { measuresOfFencing } from './fencing.mjs';
import { measuresOfResults } from './results.mjs';
import { measuresOfLateExecution } from './late-execution.mjs';
import { measuresOfRetries } from './retries.mjs';
import { measuresOfReplies } from './replies.mjs';
import { measuresOfHints } from './hints.mjs';
import { measuresOfServerTime } from './server-time.mjs';
import { measuresOfOutcomes } from './outcomes.mjs';
import { measuresOfOutageLog } from './outage-log.mjs';
import { measuresOfOffers } from './offers.mjs';
import { measuresOfWaiting } from './waiting.mjs';
import { measuresOfNesting } from './nesting.mjs';
import { measuresOfPermits } from './permits.mjs';
import { measuresOfTickets } from './tickets.mjs';
import { measuresOfTopologies } from './topologies.mjs';

export const MEASURES = [
  ...measuresOfHolds,
  ...measuresOfWaiting,
  ...measuresOfResults,
  ...measuresOfFencing,
  ...measuresOfLateExecution,
  ...measuresOfRetries,
  ...measuresOfOneCall,
  ...measuresOfReplies,
  ...measuresOfHints,
  ...measuresOfServerTime,
  ...measuresOfOutcomes,
  ...measuresOfPermits,
  ...measuresOfLateEffects,
  ...measuresOfOutageLog,
  ...measuresOfOffers,
  ...measuresOfTickets,
  ...measuresOfTopologies,
  ...measuresOfLinks,
  ...measuresOfNesting,
];
