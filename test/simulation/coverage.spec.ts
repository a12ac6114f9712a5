import { traceOf } from './histories.js';
import { planOf } from './plan-of-seed.js';

const HISTORIES = 1_000;

/** Minimum counts of events. Without these events the rules would hold trivially. */
const SIGHTS: readonly (readonly [what: string, sight: RegExp, least: number])[] = [
  ['leases', / holds /, 5_000],
  ['holders that were notified of a loss', / notified .* of its loss/, 200],
  ['offers claimed', / message .*"granted"/, 1_000],
  ['holders that were notified of waiters', / message .*"contended"/, 1_000],
  ['messages lost', / message lost /, 100],
  ['releases that queue the next attempt', / release \S+ p\S+ .*"queued"/, 100],
  ['releases that grant to the same process', / release .*"granted"/, 100],
  ['releases of a lock that was lost', / release .*"lost"/, 500],
  ['renewals', / renew /, 1_000],
  ['renewals of a lost lease', / renew .*"lost"/, 10],
  ['readers', / acquire \S+:r .*"granted"/, 500],
  ['readers that wait', / acquire \S+:r .*"queued"/, 100],
  ['readers that were notified of a writer by a renewal', / renew \S+:r \[1\]/, 20],
  ['writers that become readers', / downgrade \S+ \S+:r \d/, 50],
  ['callers of several keys', / asks for \w and /, 500],
  ['several keys taken by one command', / acquire all .*"granted"/, 100],
  ['several keys of which one is taken', / acquire all .*"busy"/, 100],
  ['foreign holders', /"foreign":true/, 100],
  ['waits that timed out', / refused: LockWaitTimeoutError/, 100],
  ['waits that were aborted', / refused: LockAbortedError/, 50],
  ['callers that did not wait', / refused: LockContendedError/, 500],
  ['stores that were not available', / refused: LockUnavailableError/, 10],
  ['shutdowns in time', / closed/, 50],
  ['crashes', / crash for /, 50],
  ['stops', / stop for /, 100],
  ['broken connections', / break for /, 100],
  ['data lost', / (overwrite|delete|flush) for /, 100],
];

describe('The simulated histories', () => {
  let lines: string[];

  beforeAll(async () => {
    lines = [];
    for (let seed = 1; seed <= HISTORIES; seed += 1) lines.push(...(await traceOf(planOf(seed))));
  });

  it.each(SIGHTS)('contain %s', (_, sight, least) => {
    expect(lines.filter((line) => sight.test(line)).length).toBeGreaterThanOrEqual(least);
  });
});
