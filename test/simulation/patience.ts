import { SHORT_OFFER_MS } from '../../libs/distribute-lock/src/store/protocol.js';
import { isCalm, type Plan } from './plan.js';

/** Clocks differ by less than this share. */
const DRIFT = 1.01;
/** After a lost message: a heartbeat with its jitter, and an attempt. */
export const HEARTBEAT_MS = 1_500;
const CLAIM_MS = 1_750;

/** How long a lock may be free in front of live waiters after the last fault. */
export function patienceMs(plan: Plan): number {
  const trip = 8 * plan.latencyMs + 10 * plan.lagMs + 20;
  // A waiter without messages may miss its short offer, because it makes an attempt every 100 to 250 ms.
  const missed = plan.callers.filter(({ process }) => plan.processes[process]?.deaf).length;
  const poll = plan.processes.some(({ deaf }) => deaf) ? 250 + missed * (SHORT_OFFER_MS + trip) : 0;
  if (isCalm(plan)) return trip + poll;
  const onlyLostMessages = plan.faults.length + plan.lateShare + plan.refusalShare === 0;
  if (onlyLostMessages) return HEARTBEAT_MS + trip + poll;
  const ttlMs = Math.max(...plan.callers.map(({ options, extend }) => Math.max(options.ttlMs, extend?.ttlMs ?? 0)));
  // Without a count of subscribers, an offer to a dead token costs a claim window. All tokens without a heartbeat leave
  // the queue then. The tokens of a process that sent one just before it died leave one window later.
  const dead = plan.counted ? 1 : 2;
  return ttlMs * DRIFT + HEARTBEAT_MS + dead * (CLAIM_MS + trip) + poll;
}
