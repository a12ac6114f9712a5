import { appendFileSync } from 'node:fs';

/** Asserts the bound of a promise, and records what was measured. */
export function expectBelow(measuredMs: number, boundMs: number): void {
  record({ measuredMs: Math.round(measuredMs), boundMs: Math.round(boundMs) });
  expect(measuredMs).toBeLessThan(boundMs);
}

/** With FAULT_MEASURED=<file>, appends the figures of the running test to that file, for docs/safety.md. */
export function record(figures: Readonly<Record<string, number>>): void {
  const file = process.env['FAULT_MEASURED'];
  if (file !== undefined) {
    const { currentTestName: test } = expect.getState();
    appendFileSync(file, `${JSON.stringify({ test, ...figures })}\n`);
  }
}
