import { appendFileSync } from 'node:fs';

import { waitedForCpuMs } from '../../support/cpu-wait.js';
import { monotonicMs } from '../../support/monotonic.js';

const EVERY_MS = 20;
/** Longer than every measured time. */
const KEPT_MS = 120_000;

/** How long this process had waited for a CPU, at different times. */
const samples: { readonly at: number; readonly waitedMs: number }[] = [];
let sampling: NodeJS.Timeout;

beforeAll(() => (sampling = setInterval(sample, EVERY_MS).unref()));
afterAll(() => clearInterval(sampling));

function sample(): void {
  const at = monotonicMs();
  samples.push({ at, waitedMs: waitedForCpuMs() });
  if (at - samples[0].at > KEPT_MS) samples.shift();
}

/** Asserts the bound of a promise, and records what was measured. A time in which the machine ran others widens it. */
export function expectBelow(measuredMs: number, boundMs: number): void {
  const waitedMs = waitedInTheLast(measuredMs);
  record({ measuredMs: Math.round(measuredMs), boundMs: Math.round(boundMs), waitedMs: Math.round(waitedMs) });
  expect(measuredMs).toBeLessThan(boundMs + waitedMs);
}

function waitedInTheLast(ms: number): number {
  const since = monotonicMs() - ms;
  const before = samples.findLast(({ at }) => at <= since) ?? samples[0];
  return before === undefined ? 0 : waitedForCpuMs() - before.waitedMs;
}

/** With FAULT_MEASURED=<file>, appends the figures of the running test to that file, for docs/safety.md. */
export function record(figures: Readonly<Record<string, number>>): void {
  const file = process.env['FAULT_MEASURED'];
  if (file !== undefined) {
    const { currentTestName: test } = expect.getState();
    appendFileSync(file, `${JSON.stringify({ test, ...figures })}\n`);
  }
}
