#!/usr/bin/env node
/** Reads what `jest --json --outputFile` wrote and prints "passed failed"; a skipped test counts as failed, and so does no test at all. */
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
