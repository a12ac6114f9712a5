import type { LeaseTickets, MoveAnswer } from '../../store/lock-store.js';
import { check, checkRising, expectOutcome } from '../checks.js';
import { rule, type RuleText } from '../store-rule.js';
import { LONG_MS, type StoreAttempt } from '../trial.js';

/** Leases that travel: the store continues them with another owner token, and remembers what happened to their tickets. */
export const ticketRules: readonly RuleText[] = [
  rule(
    'continues a lease with another owner token, once',
    async (trial) => {
      const key = trial.key();
      const [holder, next, other] = [trial.here(key), trial.there(key), trial.elsewhere(key)];
      const tokens = [await holder.granted()];
      for (let times = 0; times < 2; times += 1) {
        const answer = expectOutcome(
          await move(holder, next),
          `a move of the lease of ${holder.ownerToken}`,
          'granted',
        );
        tokens.push(answer.fencingToken);
      }
      checkRising(tokens, 'fencing tokens of the lease');
      expectOutcome(await move(holder, other), `a move by ${holder.ownerToken}, which holds no lock`, 'lost');
      await holder.holdsNothing();
      await holder.lost();
      await next.holds();
      await other.refused();
    },
    'tickets',
  ),

  rule(
    'continues no lease that has ended',
    async (trial) => {
      const key = trial.key();
      const [holder, next] = [trial.here(key), trial.there(key)];
      await holder.granted({ ttlMs: trial.shortMs });
      await trial.untilEnded();
      expectOutcome(await move(holder, next), 'a move of a lease that has ended', 'lost');
      await next.holdsNothing();
    },
    'tickets',
  ),

  rule(
    'ends a lease as the move says',
    async (trial) => {
      const key = trial.key();
      const [holder, next] = [trial.here(key), trial.there(key)];
      await holder.granted();
      expectOutcome(await move(holder, next, trial.shortMs), 'a move to a short lease', 'granted');
      await trial.untilEnded();
      await trial.elsewhere(key).granted();
    },
    'tickets',
  ),

  rule(
    'remembers what happened to a ticket',
    async (trial) => {
      const [one, other] = trial.processes.map(({ store }) => store.tickets!);
      const id = trial.key();
      check((await other.mark(id, 'used')) === undefined, 'no record before one is kept', await other.mark(id, 'used'));
      await one.keep(id, '{"of":"a lease"}', LONG_MS);
      for (const [times, fate] of (['kept', 'released', 'released'] as const).entries()) {
        const record = await other.mark(id, times === 0 ? 'released' : 'used');
        check(record?.text === '{"of":"a lease"}', 'the text of the record', record);
        const isCounted = record?.uses === Math.max(0, times - 1) && record.isReleased === times > 0;
        check(record?.fate === fate && isCounted, `${fate} after ${times} marks`, record);
        check(
          record !== undefined && record.leftMs > 0 && record.leftMs <= LONG_MS,
          `at most ${LONG_MS} ms left`,
          record,
        );
      }
      await one.keep(id, '{}', trial.shortMs);
      await trial.untilEnded();
      const ended = await other.mark(id, 'used');
      check(ended === undefined, 'no record after its time', ended);
    },
    'tickets',
  ),
];

async function move(from: StoreAttempt, to: StoreAttempt, ttlMs = LONG_MS): Promise<MoveAnswer> {
  const tickets: LeaseTickets = to.process.store.tickets!;
  return tickets.move({ key: from.key, ownerToken: from.ownerToken, to: to.ownerToken, ttlMs });
}
