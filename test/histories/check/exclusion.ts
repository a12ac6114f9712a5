import type { History, Violation } from './history.js';
import { rootOf, weightOf } from './operation.js';
import { allHolds, type ValidHold } from './valid-holds.js';

/** A part of a hold with one weight and mode. */
interface Stretch {
  readonly hold: ValidHold;
  readonly from: number;
  readonly to: number;
  readonly reads: boolean;
}

/**
 * Conflicting valid holds never overlap: a writer is alone, and the weights do not exceed the permits. During a rolling deploy, the
 * largest number of permits counts. The calls of one chain do
 * not exclude each other.
 */
export function checkExclusion(history: History): Violation[] {
  return [...allHolds(history).values()].flatMap((holds) => conflicts(holds, 'exclusion'));
}

/** Conflicting holds of one key that overlap. */
export function conflicts(holds: readonly ValidHold[], rule: string): Violation[] {
  return overlaps(
    holds.flatMap(stretches).sort((a, b) => a.from - b.from),
    rule,
  );
}

function stretches(hold: ValidHold): Stretch[] {
  const { from, to, readsFrom } = hold;
  if (hold.operation.kind === 'read') return [{ hold, from, to, reads: true }];
  const turn = Math.min(to, readsFrom);
  const written = { hold, from, to: turn, reads: false };
  return turn < to ? [written, { hold, from: turn, to, reads: true }] : [written];
}

function overlaps(inOrder: readonly Stretch[], rule: string): Violation[] {
  const violations: Violation[] = [];
  let inside: Stretch[] = [];
  for (const stretch of inOrder) {
    inside = inside.filter(({ to }) => to > stretch.from);
    const fault = conflict(stretch, inside);
    if (fault !== undefined) violations.push({ rule, ...fault });
    inside.push(stretch);
  }
  return violations;
}

function conflict(stretch: Stretch, inside: readonly Stretch[]): Omit<Violation, 'rule'> | undefined {
  const { operation, key } = stretch.hold;
  const { permits } = operation.options;
  const root = rootOf(operation);
  const foreign = inside.filter(({ hold }) => rootOf(hold.operation) !== root);
  const others = permits === undefined ? foreign.filter(({ reads }) => !(reads && stretch.reads)) : foreign;
  const all = [...others, stretch];
  if (permits !== undefined) {
    const weight = all.reduce((sum, { hold }) => sum + weightOf(hold.operation), 0);
    const most = Math.max(...all.map(({ hold }) => hold.operation.options.permits ?? permits));
    if (weight <= most) return undefined;
  } else if (others.length === 0) return undefined;
  const names = all.map(({ hold, reads }) => `${hold.operation.id}${reads ? ' (reads)' : ''}`);
  return {
    message: `${key} is held at the same time by ${names.join(', ')}`,
    operations: all.map(({ hold }) => hold.operation),
    at: stretch.from,
  };
}
