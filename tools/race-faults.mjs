/**
 * Finds tests that measure the machine instead of the code. A test may use real time to expect "eventually" and "not before", and
 * limits of several seconds end a hang.
 */

/** A measured duration above this limit means a hang. */
const HANG_MS = 5_000;
/** A lease that is not longer and renewed is lost when the machine stops the process for most of its ttl. */
const SHORT_TTL_MS = 1_000;
/** The reason why a place cannot fail on a slow machine, in the line before it. */
const REASON = /^\s*\/\/ Real time: \S/;
/** Their clock is moved by the test. */
const MANUAL = /\bManualClock\b|\bmanualWorld\b|manual-world|ticket-world|testLocks\(|useFakeTimers/;
/** It has an end that the test waits for. */
const ENDS = /renew: false|maxHold|release: 'expire'|minHold/;

const RULES = [
  {
    wanted:
      /expect\([^;]*?(?:performance\.now\(\) - |\btook\w*\b|\bwaitedMs\b|\belapsed\w*\b)[^;]*?\)\.toBeLess\w+\(([\d_]+)\)/g,
    says: 'compares a duration with a bound (only test:fault and the benchmark may)',
    isFault: ([, bound]) => Number(bound.replaceAll('_', '')) < HANG_MS,
  },
  {
    wanted: /^.*\bttl: '?([\d_]+)(ms|s)?'?[ ,}].*$/gm,
    says: 'renews a lease of at most 1 s (take 30 s, or wait for the end of the lease)',
    isFault: ([line, ttl, unit]) =>
      isRealTtl(Number(ttl.replaceAll('_', '')) * (unit === 's' ? 1_000 : 1)) && !ENDS.test(line),
  },
  {
    wanted: /await (?:sleep|delay|pause|setTimeout)\([\d_]+\);\s*\n\s*expect\(/g,
    says: 'expects something after a pause (wait for the event instead)',
    isFault: () => true,
  },
  {
    wanted: /\/[^/\n]*(?:\[\d-\d\]|\(\?:\d)[^/\n]* (?:ms|s)\b[^/\n]*\//g,
    says: 'expects digits of a duration',
    isFault: () => true,
  },
];

/** Shorter ones are refused, so the test is about the refusal. */
const isRealTtl = (ms) => ms >= 50 && ms <= SHORT_TTL_MS;

/** The faults of one file of tests: "file:line: what it does". */
export function raceFaults(file, text) {
  if (MANUAL.test(text)) return [];
  const lines = text.split('\n');
  return RULES.flatMap(({ wanted, says, isFault }) =>
    [...text.matchAll(wanted)].filter(isFault).flatMap(({ index }) => {
      const line = text.slice(0, index).split('\n').length;
      return REASON.test(lines[line - 2] ?? '') ? [] : [`${file}:${line}: ${says}`];
    }),
  );
}
