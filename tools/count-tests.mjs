#!/usr/bin/env node
/**
 * Reads the output of `jest --json --outputFile`. The first line is "passed failed": a skipped test counts as failed, and
 * a run without tests too. Each further line names a test, or a file of tests, that failed.
 */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const results = read(process.argv[2]);
console.log(count(results).join(' '));
for (const name of namesOfFailed(results)) console.log(name);

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

function count(report) {
  if (report === undefined) return [0, 1];
  const suites = report.numRuntimeErrorTestSuites;
  const missed = report.numFailedTests + report.numPendingTests + report.numTodoTests + suites;
  return [report.numPassedTests, report.numPassedTests === 0 ? Math.max(1, missed) : missed];
}

function namesOfFailed(report) {
  return (report?.testResults ?? []).flatMap(({ name, status, assertionResults }) => {
    const file = relative('.', name);
    const failed = assertionResults.filter((test) => test.status !== 'passed');
    if (failed.length === 0) return status === 'passed' ? [] : [file];
    return failed.map(({ fullName }) => `${file}: ${fullName}`);
  });
}
