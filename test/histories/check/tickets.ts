import type { Detached, TicketUse } from './detached.js';
import { ttlOf, type History, type Violation } from './history.js';
import type { Operation } from './operation.js';

/** A ticket works once, before its end, with larger fencing tokens. It is useless only with a cause. */
export function checkTickets(history: History): Violation[] {
  const all = [...history.detached.values()];
  return RULES.flatMap((rule) => all.flatMap((detached) => rule(detached, history)));
}

/** Whether a ticket may be useless for this call of `attach`. */
export function mayBeUseless(
  { ticket, id, calledAt, settledAt = calledAt, options }: Operation,
  history: History,
): boolean {
  const detached = history.detached.get(ticket ?? '');
  if (detached === undefined) return false;
  // Its own lease may have ended before its reply.
  return isOver(detached, id, settledAt, history) || settledAt - calledAt >= ttlOf(options) * 0.99 - 2;
}

/** Whether another use, the end of the lease, or a loss of data may be the reason. */
function isOver({ operation, uses, calledAt, leastEnd }: Detached, by: string, at: number, history: History): boolean {
  const others = uses.some((use) => use.id !== by && use.result !== 'useless' && use.calledAt <= at);
  const lost = history.dataLosses.some(
    (loss) => loss.from <= at && loss.at >= calledAt && (loss.key === undefined || operation.keys.includes(loss.key)),
  );
  // The grant itself may be older than a loss of data that the holder did not know.
  return others || lost || at >= leastEnd;
}

const granted = ({ uses }: Detached): readonly TicketUse[] => uses.filter(({ result }) => result === 'granted');

function usedTwice(detached: Detached): Violation[] {
  const [first, second] = granted(detached).toSorted((a, b) => a.settledAt - b.settledAt);
  if (second === undefined) return [];
  const { operation } = detached;
  return [
    fault(`was used by ${first.id} (${first.call}) and ${second.id} (${second.call})`, operation, second.settledAt),
  ];
}

function usedLate(detached: Detached): Violation[] {
  const { operation, latestEnd } = detached;
  return granted(detached)
    .filter(({ calledAt }) => calledAt > latestEnd)
    .map(({ id, calledAt }) =>
      fault(`was used by ${id} ${Math.round(calledAt - latestEnd)} ms after its end`, operation, calledAt),
    );
}

function fallingTokens({ operation }: Detached, history: History): Violation[] {
  const { hold, id } = operation;
  const attached = history.operations.filter(({ ticket }) => ticket === id);
  return attached.flatMap((each) =>
    each.keys
      .filter((key) => each.hold !== undefined && each.hold.tokens[key] <= hold!.tokens[key])
      .map((key) =>
        fault(
          `was used by ${each.id} with the token ${each.hold!.tokens[key]} of ${key}`,
          operation,
          each.settledAt ?? 0,
        ),
      ),
  );
}

/** A valid ticket can be cancelled. */
function cancelledInVain(detached: Detached, history: History): Violation[] {
  return detached.uses
    .filter(({ call, result, id, settledAt }) => {
      return call === 'cancel' && result === 'useless' && !isOver(detached, id, settledAt, history);
    })
    .map(({ id, settledAt }) => fault(`was useless for ${id} (cancel) without a cause`, detached.operation, settledAt));
}

/** `detach()` rejects only with a cause. */
function notDetached({ operation, code, calledAt }: Detached, history: History): Violation[] {
  const { process, options, events, hold } = operation;
  const at = events.find(({ type }) => type === 'detached')?.at;
  if (code === undefined || code === 'ok' || at === undefined || hold!.ended !== 'release') return [];
  const near = { from: calledAt - ttlOf(options), to: at };
  if (history.troubled(near, process) || history.shutsDown(process, at)) return [];
  return [fault(`was not issued: detach() ended with ${code}`, operation, at)];
}

function fault(message: string, operation: Operation, at: number): Violation {
  return { rule: 'tickets', message: `the ticket of ${operation.id} ${message}`, operations: [operation], at };
}

const RULES = [usedTwice, usedLate, fallingTokens, cancelledInVain, notDetached];
