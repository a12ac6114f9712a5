#!/usr/bin/env node
/**
 * Prints "passed failed" from the output of `jest --json --outputFile`. A skipped test counts as failed, and a run
 * without tests too.
 */
import { readFileSync } from 'node:fs';

const [passed, failed] = count(process.argv[2]);
console.log(`${passed} ${failed}`);

function count(file) {
  let report;
  try {
    report = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return [0, 1];
  }
  const suites = report.numRuntimeErrorTestSuites;
  const failures = report.numFailedTests + report.numPendingTests + report.numTodoTests + suites;
  return [report.numPassedTests, report.numPassedTests === 0 ? Math.max(1, failures) : failures];
}
