import { appendFileSync } from 'node:fs';

/** Asserts the bound of a promise; with FAULT_MEASURED=<file> what was measured is written there, for docs/safety.md. */
export function expectBelow(measuredMs: number, boundMs: number): void {
  const file = process.env['FAULT_MEASURED'];
  if (file !== undefined) {
    const { currentTestName: test } = expect.getState();
    appendFileSync(
      file,
      `${JSON.stringify({ test, measuredMs: Math.round(measuredMs), boundMs: Math.round(boundMs) })}\n`,
    );
  }
  expect(measuredMs).toBeLessThan(boundMs);
}
