import { inspect } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';

/** Throws a sentence with the value at fault. */
function fail(expected: string, value: unknown): never {
  throw new Error(`Expected ${expected}, but got ${inspect(value, { breakLength: Infinity })}.`);
}

/** Fails unless the fact is true. */
export function check(fact: boolean, expected: string, value: unknown): asserts fact {
  if (!fact) fail(expected, value);
}

/** Narrows an answer to one of these outcomes. */
export function expectOutcome<A extends { readonly outcome: string }, O extends A['outcome']>(
  answer: A,
  what: string,
  ...outcomes: readonly O[]
): Extract<A, { readonly outcome: O }> {
  check(
    (outcomes as readonly string[]).includes(answer.outcome),
    `${outcomes.join(' or ')} as the outcome of ${what}`,
    answer,
  );
  return answer as Extract<A, { readonly outcome: O }>;
}

/** Fails unless the numbers rise. */
export function checkRising(values: readonly number[], what: string): void {
  check(
    values.every((number, i) => Number.isSafeInteger(number) && number > (values[i - 1] ?? 0)),
    `rising safe integers as ${what}`,
    values,
  );
}

/** Calls `attempt` until it resolves with a value. */
export async function eventually<T>(limitMs: number, what: string, attempt: () => Promise<T | undefined>): Promise<T> {
  const until = performance.now() + limitMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, 50)) {
    const value = await attempt();
    if (value !== undefined) return value;
    if (performance.now() > until) throw new Error(`Expected ${what} within ${limitMs} ms.`);
    await delay(pauseMs);
  }
}
